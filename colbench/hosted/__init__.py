"""ColBench inside other harnesses: they bring model, limits and log; dialogue, human and scorer are ours."""
