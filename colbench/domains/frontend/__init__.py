"""Frontend design: the answer is an HTML page, scored by its similarity to the hidden design (docs/frontend.md)."""
