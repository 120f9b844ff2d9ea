"""The paper's comparison on a small scale: a base model from random or pretrained weights, all methods, one report."""
