"""Verification of a bundle: its receiver computes a receipt from the transcripts and the receiver's own tasks.

All receivers with the same tasks get the same receipt, byte for byte.
"""
