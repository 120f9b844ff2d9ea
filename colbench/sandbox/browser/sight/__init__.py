"""The visible blocks of a page, read from the browser's layout and checked against the picture."""
