"""A site over HTTP, for this machine only."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from colbench.errors import UserError

MOST = 65535


class _Handler(SimpleHTTPRequestHandler):
    """Serves files; says nothing on the terminal."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def end_headers(self) -> None:
        """Add headers as a careful host would."""
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()


def server(site: Path, port: int) -> ThreadingHTTPServer:
    """A server of a folder at 127.0.0.1; leaving it (`with`) closes it. Raises UserError where the port is taken."""
    if not 0 <= port <= MOST:
        raise UserError(f"--port {port}: a port is a number from 0 to {MOST}")
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), partial(_Handler, directory=str(site)))
    except OSError as cause:
        raise UserError(
            f"--port {port}: {cause.strerror}; give another, or 0 for a free one"
        ) from cause
