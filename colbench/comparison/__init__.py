"""Comparison of runs on the same tasks, trial by trial: `colbench compare` and `colbench.compare`."""
