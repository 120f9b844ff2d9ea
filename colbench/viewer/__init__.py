"""The dialogues of runs as local web pages: an index of them, the pages, and the server."""
