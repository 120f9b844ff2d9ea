"""The results of a run in formats that other sites read."""
