"""Dialogues on the nodes of a Ray cluster. Ray starts and ends the workers, and carries the bytes of their links."""
