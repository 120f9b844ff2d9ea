"""Bundles of real runs of rule-based agents on a few tasks, and a forge that plants attacks in copies of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from colbench.cli import main
from colbench.task import Task, read_tasks, row_from_task
from colbench_leaderboard.bundle.draft import draft
from colbench_leaderboard.bundle.encoding import canonical
from colbench_leaderboard.bundle.files import manifest, plain_files
from colbench_leaderboard.bundle.pack import pack
from colbench_leaderboard.bundle.schema import LOCK, MANIFEST, SUBMISSION, Disclosures, Submission
from colbench_tasks.families import FAMILIES
from colbench_tasks.generate import generate

Change = Callable[[list[dict[str, Any]]], object]
"""A function that changes a list of trajectories in place."""
DIALOGUES = "trajectories/000.jsonl"

AGENTS = """
from colbench.errors import EndpointError, SimulatorError
from colbench.messages import Message, Usage

class Counts:
    async def reply(self, dialogue):
        if len(dialogue) == 1:
            return Message(role="assistant", content="I think. OUTPUT: What is the rate?",
                           usage=Usage(prompt_tokens=5, completion_tokens=3, requests=1))
        return Message(role="assistant", content="I WANT TO ANSWER: pass",
                       usage=Usage(prompt_tokens=20, completion_tokens=2, requests=1))

class Crashes:
    async def reply(self, dialogue):
        if len(dialogue) > 1:
            raise ValueError("boom")
        return "What is the rate?"

class Parrot:
    async def respond(self, task, dialogue):
        return "As you like."
"""


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with six tasks of two families in `tasks.jsonl`, and agents in `agents.py`."""
    folder = tmp_path_factory.mktemp("place")
    tasks = [
        task for name in ("adverts", "grading") for task in generate(FAMILIES[name], 3, "verify")
    ]
    lines = (json.dumps(row_from_task(task)) + "\n" for task in tasks)
    (folder / "tasks.jsonl").write_text("".join(lines), "utf-8")
    (folder / "agents.py").write_text(AGENTS)
    return folder


@pytest.fixture(scope="session")
def tasks(workspace: Path) -> list[Task]:
    """Return the tasks of all bundles."""
    return read_tasks(workspace / "tasks.jsonl")


@pytest.fixture(scope="session")
def submission() -> Callable[[str], Submission]:
    """Return a function that makes the submission of an entry in the open track from its name."""
    return lambda name: Submission(
        name=name,
        organization="Workshop",
        authors=("A. Person",),
        contact="a@example.org",
        track="open",
        description="",
        models=(),
        disclosures=Disclosures(trained_on_colbench=False, human_in_the_loop=False, tools="none"),
    )


@pytest.fixture(scope="session")
def bundle_of(workspace: Path, submission: Callable[[str], Submission]) -> Callable[..., Path]:
    """Return a function that makes the bundle of a run of `colbench eval` with these flags, once per name."""
    made: dict[str, tuple[str, ...]] = {}

    def make(name: str, *flags: str, code: int = 0) -> Path:
        out = workspace / "bundles" / name
        assert made.setdefault(name, flags) == flags, f"{name}: another bundle has this name"
        if not out.exists():
            run = workspace / "runs" / name
            tasks = ("--tasks", str(workspace / "tasks.jsonl"), "--sandbox-workers", "2")
            assert main(["eval", *tasks, "--out", str(run), *flags]) == code
            pack(draft(run, submission(name)), out)
        return out

    return make


@pytest.fixture(scope="session")
def interviewer(bundle_of: Callable[..., Path]) -> Path:
    """Return a bundle of six dialogues with questions, all solved."""
    return bundle_of("interviewer", "--agent", "interviewer")


@pytest.fixture(scope="session")
def guesser(bundle_of: Callable[..., Path]) -> Path:
    """Return a bundle of six dialogues without questions."""
    return bundle_of("guesser", "--agent", "guesser")


class Forge:
    """A forger that copies a bundle, changes the copy, and rewrites the manifest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(
        self,
        bundle: Path,
        change: Change | None = None,
        *,
        lock: Callable[[dict[str, Any]], object] | None = None,
        submission: Callable[[dict[str, Any]], object] | None = None,
        text: tuple[str, str] | None = None,
    ) -> Path:
        """Return the forged copy: `change` edits the trajectories, and `text` replaces one text in them."""
        copy = self.folder / "forged"
        shutil.copytree(bundle, copy)
        if change:
            lines = [json.loads(line) for line in (copy / DIALOGUES).read_bytes().splitlines()]
            change(lines)
            (copy / DIALOGUES).write_bytes(b"".join(canonical(line) + b"\n" for line in lines))
        for name, part in ((LOCK, lock), (SUBMISSION, submission)):
            if part:
                value = json.loads((copy / name).read_bytes())
                part(value)
                (copy / name).write_bytes(canonical(value))
        if text:
            content = (copy / DIALOGUES).read_text("utf-8")
            assert text[0] in content
            (copy / DIALOGUES).write_text(content.replace(*text, 1), "utf-8")
        names = plain_files(copy) - {MANIFEST}
        (copy / MANIFEST).write_bytes(manifest(copy, names))
        return copy


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    """Return a `Forge`."""
    return Forge(tmp_path)


class Verifier:
    """A receiver who verifies bundles with the command line."""

    def __init__(self, workspace: Path, folder: Path) -> None:
        self.workspace, self.folder = workspace, folder

    def __call__(self, bundle: Path, *flags: str, code: int) -> dict[str, Any]:
        """Return the receipt, after checking that the exit code is `code`."""
        tasks = () if "--tasks" in flags else ("--tasks", str(self.workspace / "tasks.jsonl"))
        out = self.folder / "verified"
        argv = ["verify", str(bundle), *tasks, "--out", str(out), "--sandbox-workers", "2", *flags]
        assert main(argv) == code
        receipt = out / "receipt.json"
        return dict(json.loads(receipt.read_bytes())) if receipt.exists() else {}

    def rules(self, bundle: Path, *flags: str, code: int) -> set[str]:
        """Return the broken rules in the receipt, without notes."""
        receipt = self(bundle, *flags, code=code)
        return {one["rule"] for one in receipt["findings"] if one["severity"] != "note"}


@pytest.fixture
def verify(workspace: Path, tmp_path: Path) -> Verifier:
    """Return a `Verifier`."""
    return Verifier(workspace, tmp_path)
