"""Dialogues on the nodes of a Ray cluster, which starts and ends a worker on each and carries the bytes of its link."""
