"""The simulated humans: the rule-based one, which needs no model, and the one that a model plays."""
