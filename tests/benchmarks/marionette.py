"""A client for headless Firefox over the Marionette protocol: length-prefixed JSON over a socket."""

from __future__ import annotations

import base64
import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

START_SECONDS = 60
PREFERENCES = 'user_pref("marionette.port", {});\nuser_pref("datareporting.policy.dataSubmissionEnabled", false);\n'


class Firefox:
    """A session with one window."""

    def __init__(self, connection: socket.socket) -> None:
        self._stream = connection.makefile("rwb")
        self._read()  # Firefox's greeting
        self._count = 0
        self.ask("WebDriver:NewSession")

    def ask(self, command: str, **parameters: Any) -> Any:
        """Send a WebDriver command and return its result."""
        self._count += 1
        message = json.dumps([0, self._count, command, parameters]).encode()
        self._stream.write(b"%d:%s" % (len(message), message))
        self._stream.flush()
        _, _, error, result = self._read()
        if error:
            raise RuntimeError(f"{command}: {error['message']}")
        return result

    def picture(self, url: str) -> bytes:
        """Load a page and return a picture of the whole page."""
        self.ask("WebDriver:Navigate", url=url)
        return base64.b64decode(self.ask("WebDriver:TakeScreenshot", full=True)["value"])

    def _read(self) -> Any:
        digits = b""
        while not digits.endswith(b":"):
            digits += self._stream.read(1)
        return json.loads(self._stream.read(int(digits[:-1])))


@contextmanager
def firefox(program: str) -> Iterator[Firefox]:
    """Yield a fresh Firefox with its own profile."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        Path(profile, "user.js").write_text(PREFERENCES.format(port))
        command = [program, "--headless", "--marionette", "--no-remote", "--profile", profile]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with _connected(port) as connection:
                yield Firefox(connection)
        finally:
            process.kill()
            process.wait()


def _connected(port: int) -> socket.socket:
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
