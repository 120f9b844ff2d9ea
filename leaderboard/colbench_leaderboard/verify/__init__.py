"""Verification of a bundle: a receiver computes a receipt from the bundle's transcripts and the receiver's own tasks.

All receivers with the same version of ColBench and of the domain's package, the same tasks, the same scorer, and the
same settings (`--replay`, `--against`) get the same receipt, byte for byte.
"""
