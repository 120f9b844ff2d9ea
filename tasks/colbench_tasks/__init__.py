"""The tasks that ship with ColBench, and loaders for other tasks."""
