"""Synthetic bundles and receipts: valid in form, minimal in content."""

from __future__ import annotations

from pathlib import Path

import pytest

from colbench.messages import Usage
from colbench_leaderboard.bundle.encoding import canonical, sha256
from colbench_leaderboard.bundle.files import manifest
from colbench_leaderboard.bundle.schema import (
    MANIFEST,
    Disclosures,
    Lock,
    LockedTasks,
    Model,
    Submission,
    Trajectory,
    Turn,
)
from colbench_leaderboard.store.repository import make_store
from colbench_leaderboard.verify.receipt import (
    RECEIPT,
    SCORES,
    SUMMARY,
    CellScore,
    Finding,
    Receipt,
)
from colbench_leaderboard.verify.scores import summarize

TASKS = "cd" * 32


class Entrant:
    """An entry: the folder of its bundle, and the folder of its verification."""

    def __init__(
        self, folder: Path, name: str, values, *, price=None, tokens=None, **about
    ) -> None:
        self.bundle, self.verified = folder / "bundle", folder / "verified"
        self.domain = about.pop("domain", "backend")
        self.track = about.pop("track", "standard")
        self.setting = about.pop("setting", {})
        self.trials = len(values[0]) if values else 1
        self._write_bundle(name, values, price, tokens)
        self.digest = sha256((self.bundle / MANIFEST).read_bytes())
        self.verify(values, tokens=tokens, **about)

    def _write_bundle(self, name, values, price, tokens) -> None:
        config = {"agent": "x"} | self.setting | ({"agent_price": price} if price else {})
        usage = (
            Usage(prompt_tokens=tokens - 10, completion_tokens=10, requests=1) if tokens else None
        )
        lines = [
            Trajectory(
                task_id=f"task-{task}",
                task_hash=sha256(b"%d" % task),
                trial=trial,
                seed=1,
                request="What?",
                turns=(Turn(raw=name, said="", agent_usage=usage),),
                answer=name,
                ended_by="answer",
            )
            for task, row in enumerate(values)
            for trial in range(len(row))
        ]
        files = {
            "submission.json": canonical(submission(name, self.track)),
            "lock.json": canonical(self._lock(config, len(values))),
            "trajectories/000.jsonl": b"".join(canonical(line) + b"\n" for line in lines),
        }
        for file, content in files.items():
            (self.bundle / file).parent.mkdir(parents=True, exist_ok=True)
            (self.bundle / file).write_bytes(content)
        (self.bundle / MANIFEST).write_bytes(manifest(self.bundle, files))

    def _lock(self, config, count) -> Lock:
        tasks = LockedTasks(
            source="bundled:backend/test",
            count=count,
            hash=TASKS,
            domain=self.domain,
            trials=self.trials,
        )
        return Lock(
            colbench="0.9.0",
            commit="ab" * 20,
            python="3.11.9",
            started="2026-01-02T03:04:05.678+00:00",
            config=config,
            pins={},
            digest="ab" * 32,
            sandbox="",
            environment="",
            tasks=tasks,
        )

    def verify(
        self, values, *, level="V2", findings=(), tokens=None, scorer="unit-tests/1", tasks=TASKS
    ) -> None:
        """Write the files of a verification in which the cells have these values."""
        backend = self.domain == "backend"
        scores = [
            CellScore(
                task_id=f"task-{task}",
                trial=trial,
                value=value,
                success=value == 1 if backend else None,
                turns=1 + task % 3,
                answered=True,
                agent_words=7,
                human_words=3,
                agent_tokens=tokens,
                by_turn=() if backend else (value,),
            )
            for task, row in enumerate(values)
            for trial, value in enumerate(row)
        ]
        summary = canonical(
            summarize(scores, domain=self.domain, trials=self.trials, max_turns=10, undisclosed=[])
        )
        lines = b"".join(canonical(score) + b"\n" for score in scores)
        receipt = Receipt(
            bundle=self.digest,
            colbench="0.9.0",
            tasks=tasks,
            scorer=scorer,
            level=level,
            findings=tuple(Finding(rule=r, severity=s, file="", message=r) for r, s in findings),
            replayed=0,
            scores=sha256(lines) if level else "",
            summary=sha256(summary) if level else "",
        )
        self.verified.mkdir(exist_ok=True)
        (self.verified / RECEIPT).write_bytes(canonical(receipt))
        for name, content in ((SCORES, lines), (SUMMARY, summary)):
            (self.verified / name).unlink(missing_ok=True)
            if level:
                (self.verified / name).write_bytes(content)


def submission(name, track) -> Submission:
    return Submission(
        name=name,
        organization="Institute",
        authors=("A. Author",),
        contact="a@example.org",
        track=track,
        description="A system.",
        models=(Model(name="m", open_weights=True),),
        disclosures=Disclosures(trained_on_colbench=False, human_in_the_loop=False, tools="none"),
    )


@pytest.fixture(scope="session")
def small_bundle(tmp_path_factory):
    """Return a bundle of two dialogues in a folder, which no test may change."""
    return Entrant(tmp_path_factory.mktemp("small"), "small", ((1.0,), (0.5,))).bundle


@pytest.fixture
def store(tmp_path):
    """Return an empty store."""
    path = tmp_path / "store"
    make_store(path)
    return path


@pytest.fixture
def entrant(tmp_path):
    """Return a function that makes an `Entrant` from a name and the values of its cells, with one row per task."""

    def make(name="one", values=((1.0,), (0.5,)), **about):
        return Entrant(tmp_path / name, name, values, **about)

    return make
