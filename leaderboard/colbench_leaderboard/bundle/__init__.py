"""Submission bundles: their schema, packing one from a run, and reading one that somebody sent."""
