"""ColBench inside other harnesses: they provide model, limits and log; ColBench provides dialogue, human and scorer."""
