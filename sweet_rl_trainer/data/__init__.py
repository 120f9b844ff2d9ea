"""Training data: recorded dialogues, their pairs and splits, and tokenized examples."""
