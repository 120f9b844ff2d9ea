"""Comparing runs on the same tasks, cell by cell: `colbench compare` and `colbench.compare`."""
