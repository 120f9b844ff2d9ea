"""The simulated humans: the keyless one, which needs no model, and the one that a model plays."""
