"""Serving a site over HTTP, to this machine only."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from colbench.errors import UserError

MOST = 65535


class _Handler(SimpleHTTPRequestHandler):
    """A handler that serves files and prints nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""

    def end_headers(self) -> None:
        """Make browsers check that cached files are current, and forbid the guessing of content types."""
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()


def server(site: Path, port: int) -> ThreadingHTTPServer:
    """Return an HTTP server at 127.0.0.1 that serves a folder; the end of the server's `with` block closes it.

    Raises UserError if the port is not valid or is in use.
    """
    if not 0 <= port <= MOST:
        raise UserError(f"--port {port}: expected a number from 0 to {MOST}")
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), partial(_Handler, directory=str(site)))
    except OSError as cause:
        raise UserError(
            f"--port {port}: {cause.strerror}; use another port, or 0 for any free port"
        ) from cause
