"""Uploads to the Hugging Face Hub, with a scripted HTTP server, and the messages if it refuses or is unreachable."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from huggingface_hub.errors import HfHubHTTPError

from colbench.cli import main
from colbench.errors import EndpointError, UserError
from colbench.hub import push
from colbench.plugins import resolve_tasks

COMMIT = "0" * 40


class ScriptedHub(ThreadingHTTPServer):
    """A hub with one dataset repository `me/data`, empty at first; it stores what is committed."""

    daemon_threads = True

    def __init__(self, status: int = 200, *, exists: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), HubHandler)
        self.status, self.exists = status, exists
        self.created: list[dict[str, object]] = []
        self.objects: dict[str, bytes] = {}
        self.files: dict[str, bytes] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class HubHandler(BaseHTTPRequestHandler):
    """The parts of the hub's API that an upload uses."""

    server: ScriptedHub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if not self.path.startswith("/api/datasets/me/data"):
            self._send(404, {})
        elif not self.server.exists:
            self._send(404, {"error": "Repository not found"}, code="RepoNotFound")
        elif "/tree/" in self.path and "/data" in self.path.partition("/tree/")[2]:
            self._send(404, {"error": "no such folder"}, code="EntryNotFound")
        elif "/tree/" in self.path:
            entry = {"type": "file", "path": ".gitattributes", "size": 1, "oid": COMMIT}
            self._send(200, [entry])
        else:
            self._send(200, {"id": "me/data", "sha": COMMIT, "siblings": [], "tags": []})

    def do_POST(self) -> None:
        body = self._body()
        if self.server.status != 200:
            self._send(self.server.status, {"error": "the hub says no"})
        elif self.path == "/api/repos/create":
            self.server.created.append(json.loads(body))
            self.server.exists = True
            self._send(200, {"url": f"{self.server.url}/datasets/me/data"})
        elif self.path == "/api/validate-yaml":
            self._send(200, {"errors": [], "warnings": []})
        elif "/preupload/" in self.path:
            files = [file["path"] for file in json.loads(body)["files"]]
            modes = [{"path": p, "uploadMode": mode(p), "shouldIgnore": False} for p in files]
            self._send(200, {"files": modes})
        elif self.path.endswith("/info/lfs/objects/batch"):
            self._send(200, {"transfer": "basic", "objects": [*map(self._upload, wanted(body))]})
        elif "/commit/" in self.path:
            for each in map(json.loads, body.splitlines()):
                if each["key"] == "lfsFile":
                    content = self.server.objects[each["value"]["oid"]]
                    self.server.files[each["value"]["path"]] = content
            url = f"{self.server.url}/datasets/me/data/commit/{COMMIT}"
            self._send(200, {"commitUrl": url, "commitOid": COMMIT})
        else:
            self._send(404, {})

    def do_PUT(self) -> None:
        self.server.objects[self.path.rpartition("/")[2]] = self._body()
        self._send(200, {})

    do_HEAD = do_GET

    def _upload(self, file: dict[str, Any]) -> dict[str, Any]:
        href = f"{self.server.url}/objects/{file['oid']}"
        return {**file, "actions": {"upload": {"href": href}}}

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _send(self, status: int, value: object, code: str = "") -> None:
        content = b"" if self.command == "HEAD" else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if code:
            self.send_header("X-Error-Code", code)
        self.end_headers()
        self.wfile.write(content)


def mode(path: str) -> str:
    return "lfs" if path.endswith(".parquet") else "regular"


def wanted(body: bytes) -> list[dict[str, Any]]:
    return list(json.loads(body)["objects"])


@pytest.fixture
def hub() -> Iterator[ScriptedHub]:
    with ScriptedHub() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def colbench(tmp_path):
    """Return a function that runs a command in an empty folder with a hub; it returns the exit code and stderr."""

    def run(endpoint: str, *argv: str, **environment: str) -> tuple[int, str]:
        known = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
        own = {"HF_ENDPOINT": endpoint, "HF_HOME": str(tmp_path / "hf"), "HF_TOKEN": "hf_secret"}
        own["HF_HUB_DISABLE_XET"] = (
            "1"  # the test double implements the older of the Hub's upload protocols
        )
        done = subprocess.run(
            [sys.executable, "-m", "colbench.cli", *argv],
            env={**known, **own, **environment},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr

    return run


EXPORT = ("tasks", "export", "bundled:backend", "--limit", "3", "--push-to-hub", "me/data")


def table(hub: ScriptedHub, folder: Path):
    """Return the table that was committed."""
    from datasets import Dataset

    (name,) = [name for name in hub.files if name.endswith(".parquet")]
    file = folder / "committed.parquet"
    file.write_bytes(hub.files[name])
    return Dataset.from_parquet(str(file), cache_dir=str(folder / "cache"))


@pytest.mark.parametrize("flags", [pytest.param((), marks=pytest.mark.slow), ("--private",)])
def test_exported_tasks_are_uploaded_with_the_columns_of_the_file(hub, colbench, tmp_path, flags):
    code, said = colbench(hub.url, *EXPORT, "--out", "tasks.parquet", *flags)
    assert code == 0
    file, place = said.splitlines()
    assert file.startswith("tasks.parquet: 3 tasks, SHA-256 ")
    assert place == f"{hub.url}/datasets/me/data: 3 tasks"
    assert ["private" in str(each) for each in hub.created] == [bool(flags)]
    from datasets import Dataset

    written = Dataset.from_parquet(str(tmp_path / "tasks.parquet"), cache_dir=str(tmp_path / "c"))
    uploaded = table(hub, tmp_path)
    assert uploaded.features == written.features
    assert uploaded.to_list() == written.to_list()
    assert uploaded["id"][:] == [task.id for task in resolve_tasks("bundled:backend")[:3]]


@pytest.mark.slow
def test_the_report_command_uploads_the_dialogues_of_a_run(
    hub, colbench, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main(["eval", "--limit", "2", "--out", "run"]) == 0
    code, said = colbench(hub.url, "report", "run", "--json", "--push-to-hub", "me/data")
    assert (code, said) == (0, f"{hub.url}/datasets/me/data: 2 dialogues\n")
    rows = table(hub, tmp_path).to_list()
    assert [row["success"] for row in rows] == [1.0, 1.0]
    assert [message["role"] for message in rows[0]["messages"][:2]] == ["user", "assistant"]


def test_an_invalid_repository_name_is_refused_before_anything_is_written(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for command in (["tasks", "export", "bundled:backend", "--out", "t.jsonl"], ["report", "run"]):
        assert main([*command, "--push-to-hub", "my data/one"]) == 2
        assert "my data/one: expected OWNER/NAME, such as me/my-data" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["tasks", "export", "x.jsonl"], "use --out FILE, --push-to-hub REPOSITORY, or both"),
        (
            ["tasks", "export", "x.jsonl", "--out", "y.jsonl", "--private"],
            "--private: requires --push",
        ),
        (["report", "run", "--private"], "--private: requires --push-to-hub REPOSITORY"),
        (
            ["tasks", "export", "x.jsonl", "--push-to-hub", "a/b", "--format", "jsonl"],
            "--format jsonl: requires --out FILE",
        ),
    ],
)
def test_flags_without_the_flag_they_require_are_refused(capsys, argv, said):
    assert main(argv) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("status", [401, pytest.param(403, marks=pytest.mark.slow)])
def test_a_refused_upload_is_reported_with_how_to_log_in(hub, colbench, status):
    hub.status = status
    code, said = colbench(hub.url, *EXPORT)
    assert code == 2
    assert said.startswith(f"colbench: me/data: {hub.url} refused the upload: ")
    assert "log in with `hf auth login`, or set HF_TOKEN" in said
    assert "Traceback" not in said


def test_an_unreachable_hub_is_named_without_a_traceback(colbench):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{free.getsockname()[1]}"
    code, said = colbench(endpoint, *EXPORT)
    assert code == 1
    assert f"colbench: endpoint: me/data: {endpoint} cannot be reached: " in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_offline_mode_is_reported_and_uploads_nothing(hub, colbench):
    code, said = colbench(hub.url, *EXPORT, HF_HUB_OFFLINE="1")
    assert (code, said) == (2, "colbench: me/data: HF_HUB_OFFLINE is set; unset it\n")
    assert not hub.files


class Failing:
    """A dataset whose upload raises an error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def push_to_hub(self, repository: str, *, private: bool | None) -> object:
        raise self.error


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (
            OSError(28, "No space left on device"),
            UserError,
            "the upload failed: OSError: .*No space",
        ),
        (ValueError("Split name"), UserError, "the upload failed: ValueError: Split name$"),
        (requests.exceptions.ReadTimeout("late"), EndpointError, "cannot be reached: late$"),
        (ConnectionResetError("reset"), EndpointError, "cannot be reached: reset$"),
        (TimeoutError(), EndpointError, "cannot be reached: TimeoutError$"),
        (
            HfHubHTTPError(
                "503 Server Error",
                response=SimpleNamespace(status_code=503, headers={}, request=None),
            ),
            EndpointError,
            "https?://[^ ]+ failed: 503 Server Error$",
        ),
    ],
)
def test_only_a_lost_connection_counts_as_an_unreachable_hub(error, kind, said):
    with pytest.raises(kind, match=f"^me/data: .*{said}"):
        push(Failing(error), "me/data")
