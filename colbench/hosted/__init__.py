"""ColBench inside other harnesses, which provide the model, the limits and the log.

ColBench provides the dialogue, the human and the scorer.
"""
