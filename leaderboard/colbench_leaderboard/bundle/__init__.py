"""Submission bundles: their schema, packing a bundle from a run, and reading a submitted one."""
