"""Pages: HTML in a message, its render, and the storage of renders."""
