"""Agents and dialogues: the interface between the trainer and the harness."""
