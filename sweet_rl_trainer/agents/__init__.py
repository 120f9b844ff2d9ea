"""Agents and dialogues: how the trainer meets the harness."""
