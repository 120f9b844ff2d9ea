"""What can be seen of a page: its visible blocks, from the browser's layout and checked against the picture."""
