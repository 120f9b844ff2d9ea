"""What an agent asked, what it was told, and what that was worth, derived from a task and a dialogue."""
