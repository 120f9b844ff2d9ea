"""Backend programming: the answer is a Python function, run against hidden tests in the code sandbox."""
