"""The dialogues of runs as local web pages: an index of the dialogues, the pages, and the server."""
