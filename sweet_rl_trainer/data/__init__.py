"""The data: dialogues of the harness, their pairs and splits, and examples in tokens."""
