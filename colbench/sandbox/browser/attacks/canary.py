"""Targets that a hostile page must neither reach nor show: a server and files of one color."""

from __future__ import annotations

import io
import shutil
import socket
import tempfile
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

COLOR = (201, 24, 143)
"""Color of every canary file. No page of the corpus uses this color."""
_HEX = "#{:02x}{:02x}{:02x}".format(*COLOR)
_PAINT = f"html,body{{background:{_HEX}!important}}"
_SQUARE = f'<rect width="64" height="64" fill="{_HEX}"/>'
_SVG = f'<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64">{_SQUARE}</svg>'
_TYPES = {
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".css": "text/css",
    ".js": "text/javascript",
}


class Canary:
    """A folder of files, and a server of HTTP and datagrams on the loopback interface; a context manager.

    The server serves the folder's files by name. The path `never` gets no response, and any other path gets
    `page.html`.
    """

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="colbench-canary-"))
        for name, content in _files().items():
            (self._folder / name).write_bytes(content)
        self._seen: list[str] = []
        self._server = _Server(_files(), self._seen)
        self._port = self._server.server_address[1]
        self._datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._datagrams.setblocking(False)
        self._datagrams.bind(("127.0.0.1", self._port))

    @property
    def words(self) -> dict[str, str]:
        """The replacements for the placeholders in the sources of the attacks."""
        return {
            "CANARY_FILES": self._folder.as_uri(),
            "CANARY_PATH": str(self._folder),
            "CANARY_PORT": str(self._port),
            "CANARY": f"127.0.0.1:{self._port}",
        }

    def traces(self) -> list[str]:
        """Return descriptions of the connections and datagrams since the last call."""
        found, self._seen[:] = sorted(set(self._seen)), []
        with suppress(BlockingIOError):
            while self._datagrams.recv(2048):
                found.append("a datagram")
        return sorted(set(found))

    def __enter__(self) -> Canary:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.closed.set()
        self._server.shutdown()
        self._server.server_close()
        self._datagrams.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def shows_canary(picture: bytes) -> bool:
    """Return True if a PNG contains the color of the canary files."""
    from PIL import Image

    with Image.open(io.BytesIO(picture)) as image:
        pixels = image.convert("RGB").tobytes()
    return bytes(COLOR) * 8 in pixels


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, files: dict[str, bytes], seen: list[str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files, self.seen = files, seen
        self.closed = threading.Event()

    def get_request(self) -> tuple[socket.socket, Any]:
        connection = super().get_request()
        self.seen.append("a connection")
        return connection

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors, because browsers may close connections at any time."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2].partition("?")[0]
        if name == "never":
            self.server.closed.wait()
        content = self.server.files.get(name, self.server.files["page.html"])
        self.send_response(200)
        self.send_header("Content-Type", _TYPES.get(Path(name).suffix, "text/html"))
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET  # noqa: N815  # as http.server calls it

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def _files() -> dict[str, bytes]:
    return {
        "picture.png": _png(),
        "picture.svg": _SVG.encode(),
        "page.html": f"<!doctype html><style>{_PAINT}</style>{_SVG}".encode(),
        "style.css": _PAINT.encode(),
        "script.js": f'document.documentElement.innerHTML="<style>{_PAINT}</style>"'.encode(),
    }


def _png() -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.new("RGB", (64, 64), COLOR).save(stream, "PNG")
    return stream.getvalue()
