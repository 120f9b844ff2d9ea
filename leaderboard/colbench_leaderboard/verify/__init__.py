"""Verifying a bundle: from transcripts and the receiver's own tasks to a receipt that is the same everywhere."""
