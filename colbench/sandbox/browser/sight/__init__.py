"""The visible blocks of a page, from the browser's layout and checked against the picture."""
