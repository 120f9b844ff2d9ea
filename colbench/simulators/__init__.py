"""The simulated humans: the rule-based human, which needs no model, and the human that a model plays."""
