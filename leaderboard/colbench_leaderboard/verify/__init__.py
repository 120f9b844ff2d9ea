"""Verifying a bundle: from transcripts and the receiver's own tasks to a receipt, offline and the same everywhere."""
