"""The paper's comparison on a small scale: a base model from random weights, all methods, one report."""
