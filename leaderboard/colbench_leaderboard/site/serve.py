"""A site over HTTP, for this machine alone."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from colbench.errors import UserError

MOST = 65535


class _Handler(SimpleHTTPRequestHandler):
    """Handler that serves files and prints nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""

    def end_headers(self) -> None:
        """Forbid guessing of content types, and caching."""
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()


def server(site: Path, port: int) -> ThreadingHTTPServer:
    """Return a server of a folder at 127.0.0.1, closed on leaving the context.

    Raises UserError if the port is taken.
    """
    if not 0 <= port <= MOST:
        raise UserError(f"--port {port}: a port is a number from 0 to {MOST}")
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), partial(_Handler, directory=str(site)))
    except OSError as cause:
        raise UserError(
            f"--port {port}: {cause.strerror}; name another port, or 0 for any free port"
        ) from cause
