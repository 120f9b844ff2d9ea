"""`sweet-rl study --quick`: a small version of the whole study, killed and resumed; asserts only what must hold."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

pytestmark = pytest.mark.weekly

BIN = Path(sys.executable).parent
ARMS = {"zero-shot", "rft", "facts", "sweet"}
RUN = "--quick", "--seeds", "1"


def study(out: Path, said: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {"OMP_NUM_THREADS": "2"}  # no number may depend on it
    with said.open("ab") as stream:
        return subprocess.Popen(
            [BIN / "sweet-rl", "study", *RUN, "--out", out],
            stdout=stream,
            stderr=stream,
            env=environment,
        )


def killed_in(stage: str, out: Path, said: Path) -> None:
    """Start a study, and kill it as soon as the stage begins to log."""
    process = study(out, said)
    while not list(out.glob(f"{stage}-*/run/log.jsonl")):
        assert process.poll() is None, said.read_text()
        time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.wait()


def finished(out: Path, said: Path) -> None:
    assert study(out, said).wait() == 0, said.read_text()


def done(out: Path) -> dict[str, int]:
    """Return the time at which each finished stage was done."""
    return {path.parent.name: path.stat().st_mtime_ns for path in out.glob("*/done.json")}


def test_the_quick_study_resumes_and_two_calls_share_its_work(tmp_path: Path):
    out, said = tmp_path / "study", tmp_path / "said.txt"
    killed_in("critic", out, said)
    before = done(out)
    assert before
    others = [study(out, said) for _ in range(2)]
    assert [each.wait() for each in others] == [0, 0], said.read_text()
    assert before.items() <= done(out).items()

    results = json.loads((out / "results.json").read_text())
    assert "threads of a process: 1" in results["machine"]
    assert {row["arm"] for row in results["rows"]} == ARMS
    assert {len(row["test"]) for row in results["rows"]} == {12}
    budgets = {row["arm"]: row["budget"] for row in results["rows"]}
    assert {budgets[arm]["dialogues"] for arm in ("rft", "facts", "sweet")} == {3 * 2 * 80}
    assert {budgets[arm]["steps"] for arm in ("rft", "facts", "sweet")} == {12}
    assert {arm: budgets[arm]["critic_steps"] for arm in ("rft", "facts", "sweet")} == {
        "rft": 0,
        "facts": 0,
        "sweet": 24,
    }
    assert budgets["facts"]["candidates"] > 0
    assert budgets["rft"]["supervised"] > 0
    pairs = {(each["asker"], each["writer"]): each["test"] for each in results["exchanges"]}
    assert set(pairs) == {
        *(("rft", "oracle"), ("oracle", "rft"), ("rft", "zero-shot")),
        *(("zero-shot", "oracle"), ("oracle", "zero-shot")),
    }

    everything = done(out)
    results_before = (out / "results.json").read_bytes()
    finished(out, said)
    assert done(out) == everything
    assert (out / "results.json").read_bytes() == results_before
    assert "Facts" in (out / "report" / "report.md").read_text()
