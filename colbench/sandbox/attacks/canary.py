"""Targets that an attack must leave untouched: a folder and several servers."""

from __future__ import annotations

import shutil
import socket
import tempfile
from pathlib import Path
from types import TracebackType

from colbench.sandbox.attacks.victim import REFERENCE

_LETTERS = 190_000


class Canary:
    """A folder with a task file, and servers on the loopback interface; a context manager."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="colbench-canary-"))
        self._tasks = self._folder / "tasks.txt"
        self._plant()
        self._tcp = _bound(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self._port = self._tcp.getsockname()[1]
        self._name = self._folder.name
        self._sockets = {
            "a connection by TCP": self._tcp,
            "a datagram": _bound(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", self._port)),
            "a connection to an abstract socket": self._unix(socket.SOCK_STREAM, ""),
            "a datagram to an abstract socket": self._unix(socket.SOCK_DGRAM, "-datagrams"),
            "a connection to a socket file": _bound(
                socket.AF_UNIX, socket.SOCK_STREAM, str(self._folder / "socket")
            ),
        }
        self._seen = self._state()

    @property
    def words(self) -> dict[str, str]:
        """The replacements for the placeholders in the sources of the attacks."""
        return {
            "CANARY_FOLDER": str(self._folder),
            "CANARY_PORT": str(self._port),
            "CANARY_SOCKET": self._name,
            "REPEATED_LETTERS": "a" * _LETTERS,
            "REPEATED_BLANKS": " " * _LETTERS,
        }

    def traces(self) -> list[str]:
        """Return a description of each access to a target since the last call, and restore the changed files."""
        found = [what for what, server in self._sockets.items() if _visited(server)]
        if self._state() != self._seen:
            found.append("a change of files")
            self._plant()
            self._seen = self._state()
        return found

    def __enter__(self) -> Canary:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for server in self._sockets.values():
            server.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _unix(self, kind: socket.SocketKind, suffix: str) -> socket.socket:
        return _bound(socket.AF_UNIX, kind, f"\0{self._name}{suffix}")

    def _plant(self) -> None:
        """Delete everything in the folder except the socket, and write a task file that contains the reference."""
        self._folder.chmod(0o755)
        for path in self._folder.iterdir():
            if path.name != "socket":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        self._tasks.write_text(REFERENCE, "utf-8")
        self._tasks.chmod(0o644)

    def _state(self) -> object:
        stats = ((path, path.lstat()) for path in sorted(self._folder.iterdir()))
        content = self._tasks.read_bytes() if self._tasks.exists() else b""
        return content, [(path, s.st_mode, s.st_mtime_ns, s.st_nlink) for path, s in stats]


def _bound(
    family: socket.AddressFamily, kind: socket.SocketKind, address: str | tuple[str, int]
) -> socket.socket:
    server = socket.socket(family, kind)
    server.setblocking(False)
    server.bind(address)
    if kind is socket.SOCK_STREAM:
        server.listen()
    return server


def _visited(server: socket.socket) -> bool:
    try:
        if server.type is socket.SOCK_DGRAM:
            return bool(server.recv(64))
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True
