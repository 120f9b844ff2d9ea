"""Pages: HTML in a message, what a browser made of it, and where renders are kept."""
