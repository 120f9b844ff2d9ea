"""A run of `colbench eval`, its bundle, and functions that alter them."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from colbench.cli import main

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SUBMISSION = """
name = "Guesser"
organization = "ColBench"
authors = ["A. Person", "Ö. Nilsson"]
contact = "somebody@example.org"
track = "open"
description = "Guesses. <script>alert(1)</script>"
models = []

[disclosures]
trained_on_colbench = false
human_in_the_loop = false
tools = "none"
"""
LONG_WINDED = """
class LongWinded:
    async def reply(self, dialogue):
        if len(dialogue) == 1:
            return "What is the rate? " + "é" * 9000
        return "I WANT TO ANSWER: def f(): return 1"
"""


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """Return a run of 3 tasks and 2 trials, recorded with a clean commit."""
    return play(tmp_path_factory.mktemp("run") / "run", "guesser", "--trials", "2")


@pytest.fixture(scope="session")
def run_with_blob(tmp_path_factory):
    """Return a run of one task by an agent with a text that becomes a blob."""
    folder = tmp_path_factory.mktemp("wordy")
    (folder / "mine.py").write_text(LONG_WINDED)
    return play(folder / "run", f"{folder / 'mine.py'}:LongWinded", limit=1)


@pytest.fixture
def meta(tmp_path):
    """Return a submission.toml for the open track."""
    path = tmp_path / "submission.toml"
    path.write_text(SUBMISSION)
    return path


@pytest.fixture
def packed(run, meta, tmp_path):
    """Return the bundle of `run` as a folder."""
    return packed_of(run, meta, tmp_path / "bundle")


@pytest.fixture
def packed_with_blob(run_with_blob, meta, tmp_path):
    """Return the bundle of `run_with_blob` as a folder with one blob."""
    return packed_of(run_with_blob, meta, tmp_path / "bundle")


@pytest.fixture
def copied(tmp_path):
    """Return a function that copies a run and changes its run.json."""

    def copy(run, change=lambda record: None):
        folder = tmp_path / "copied"
        shutil.copytree(run, folder)
        record = json.loads((folder / "run.json").read_text())
        change(record)
        (folder / "run.json").write_text(json.dumps(record))
        return folder

    return copy


@pytest.fixture
def seal():
    """Return a function that rewrites the manifest of a bundle, as any attacker can."""

    def write(folder):
        manifest = folder / "MANIFEST.sha256"
        manifest.unlink(missing_ok=True)
        files = sorted(
            (path.relative_to(folder).as_posix(), path)
            for path in folder.rglob("*")
            if path.is_file()
        )
        lines = (
            f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n" for name, path in files
        )
        manifest.write_text("".join(lines))
        return folder

    return write


@pytest.fixture
def archived(tmp_path):
    """Return a function that makes a .tar.gz of a bundle and additional members."""

    def archive(folder, *members, form=tarfile.USTAR_FORMAT):
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w", format=form) as tar:
            for path in sorted(folder.rglob("*")) if folder else ():
                if path.is_file():
                    tar.add(path, path.relative_to(folder).as_posix())
            for member, content in members:
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
        out = tmp_path / "by-hand.tar.gz"
        out.write_bytes(gzip.compress(stream.getvalue(), mtime=0))
        return out

    return archive


@pytest.fixture
def repository(tmp_path):
    """Return a function that runs git in a leaderboard's repository with one commit; `folder` is its path."""

    def git(*words, folder=tmp_path / "board"):
        command = ["git", "-C", str(folder), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    (tmp_path / "board").mkdir()
    git("init", "--quiet", "--initial-branch=main")
    for key, value in (("user.name", "Somebody"), ("user.email", "somebody@example.org")):
        git("config", key, value)
    (tmp_path / "board" / "README.md").write_text("A leaderboard.\n")
    (tmp_path / "board" / "log.jsonl").touch()
    git("add", "README.md", "log.jsonl")
    git("commit", "--quiet", "--message", "begin")
    git.folder = tmp_path / "board"
    return git


def play(folder, agent, *flags, limit=3):
    args = ["eval", "--agent", agent, "--limit", str(limit), *flags, "--out", str(folder)]
    assert main(args) == 0
    path = folder / "run.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "commit": COMMIT}))
    return folder


def packed_of(run: Path, meta: Path, out: Path) -> Path:
    assert main(["submit", "pack", str(run), "--meta", str(meta), "--out", str(out)]) == 0
    return out
