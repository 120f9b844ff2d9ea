"""The report of a run, in numbers and as a page."""
