"""The version of ColBench."""

__version__ = "0.1.0"
