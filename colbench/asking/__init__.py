"""What an agent asked and was told, and measures of both, derived from a task and a dialogue."""
