"""Frontend design: the answer is an HTML page, scored by its likeness to the hidden design (docs/frontend.md)."""
