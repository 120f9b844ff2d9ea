"""The critic: its diagnosis before an actor is trained with it."""
