"""A small Hugging Face hub on this machine: datasets are folders, each with one commit."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


class Hub(ThreadingHTTPServer):
    """A server of `ROOT/OWNER/NAME/…` as dataset OWNER/NAME, at the commit given for it in `commits`."""

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.root = root
        self.commits: dict[str, str] = {}
        self.asked: list[str] = []
        self.sent = 0
        """Number of bytes of files that were sent."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    """The few endpoints that reading a dataset needs."""

    server: Hub
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path).strip("/").split("/")
        self.server.asked.append(f"{self.command} {'/'.join(path)}")
        if path[:2] == ["api", "datasets"]:
            self.api("/".join(path[2:4]), path[4], path[5:])
        else:
            self.resolve("/".join(path[1:3]), "/".join(path[5:]))

    do_HEAD = do_GET

    def api(self, name: str, verb: str, rest: list[str]) -> None:
        commit = self.server.commits.get(name)
        if commit is None or rest[0] not in (commit, "main"):
            self.answer(
                404, b"{}", {"X-Error-Code": "RevisionNotFound" if commit else "RepoNotFound"}
            )
            return
        folder = self.server.root / name
        if verb == "revision":
            self.json({"id": name, "sha": commit, "siblings": []})
        elif verb == "commits":
            self.json([{"id": commit, "title": "", "message": "", "date": DATE, "authors": []}])
        else:
            found = folder.joinpath(*rest[1:]).rglob("*")
            self.json([entry(folder, path) for path in sorted(found)])

    def resolve(self, name: str, file: str) -> None:
        path = self.server.root / name / file
        if name not in self.server.commits or not path.is_file():
            self.answer(404, b"", {"X-Error-Code": "EntryNotFound"})
            return
        content, status = path.read_bytes(), 200
        headers = {
            "ETag": f'"{hashlib.sha1(content).hexdigest()}"',
            "X-Repo-Commit": self.server.commits[name],
            "Accept-Ranges": "bytes",
        }
        wanted = self.headers.get("Range", "").removeprefix("bytes=")
        if wanted:
            first, last = (int(end) for end in wanted.split("-"))
            headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
            content, status = content[first : last + 1], 206
        self.server.sent += len(content) if self.command == "GET" else 0
        self.answer(status, content, headers)

    def json(self, value: Any) -> None:
        self.answer(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def answer(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


DATE = "2025-03-20T00:00:00.000Z"


def digest(path: Path) -> str:
    return hashlib.sha1(path.read_bytes()).hexdigest()


def entry(root: Path, path: Path) -> dict[str, Any]:
    name = path.relative_to(root).as_posix()
    if path.is_dir():
        return {"type": "directory", "path": name, "oid": "0" * 40, "size": 0}
    return {"type": "file", "path": name, "oid": digest(path), "size": path.stat().st_size}


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    """Yield a hub without datasets; put them into `hub.root` and their commit into `hub.commits`."""
    with Hub(tmp_path / "hub") as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def run_alone(tmp_path: Path) -> Run:
    """Return a function that runs Python code in its own process, with given variables and with caches of the test."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "COLBENCH_"))}
    caches = {"HF_HOME": str(tmp_path / "hf"), "COLBENCH_CACHE": str(tmp_path / "cache")}

    def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code],
            env={**kept, **caches, **environment},
            capture_output=True,
            text=True,
            check=True,
        )

    return run
