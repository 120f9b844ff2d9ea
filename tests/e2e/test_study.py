"""`sweet-rl study --quick`: the whole study in small, killed on its way; asserts only what must hold."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent
METHODS = {"zero-shot", "rft", "mtdpo", "sweet", "pmi"}
RUN = "--quick", "--seeds", "1"


def study(out: Path, said: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {"OMP_NUM_THREADS": "2"}  # on which no number may depend
    with said.open("ab") as stream:
        return subprocess.Popen(
            [BIN / "sweet-rl", "study", *RUN, "--out", out],
            stdout=stream,
            stderr=stream,
            env=environment,
        )


def killed_in(stage: str, out: Path, said: Path) -> None:
    """Begun, and killed as soon as that stage has begun to log."""
    process = study(out, said)
    while not list(out.glob(f"{stage}-*/run/log.jsonl")):
        assert process.poll() is None, said.read_text()
        time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.wait()


def finished(out: Path, said: Path) -> None:
    assert study(out, said).wait() == 0, said.read_text()


def done(out: Path) -> dict[str, int]:
    """The stages that are done, and when they were."""
    return {path.parent.name: path.stat().st_mtime_ns for path in out.glob("*/done.json")}


def losses(log: Path) -> tuple[float, float]:
    """The mean loss of the first and of the last quarter of a training."""
    lines: list[dict[str, Any]] = [json.loads(line) for line in log.read_text().splitlines()]
    values = [line["loss"] for line in lines if "loss" in line]
    quarter = len(values) // 4
    return mean(values[:quarter]), mean(values[-quarter:])


def test_the_quick_study_resumes_and_its_critic_beats_chance(tmp_path: Path):
    out, said = tmp_path / "study", tmp_path / "said.txt"
    killed_in("critic", out, said)
    before = done(out)
    finished(out, said)
    assert before
    assert before.items() <= done(out).items()

    results = json.loads((out / "results.json").read_text())
    assert "threads of a process: 1" in results["machine"]
    assert {row["method"] for row in results["rows"]} == METHODS
    assert len({len(row["test"]) for row in results["rows"]}) == 1
    trainings = {log.parts[-3]: losses(log) for log in out.glob("*/run/log.jsonl")}
    kinds = sorted(name.rsplit("-", 1)[0] for name in trainings)
    assert kinds == ["actor", "actor", "critic", "mtdpo", "rft", "rft"], "one rft is the base's"
    assert {name for name, (first, last) in trainings.items() if last >= first} == set()
    assert {(each["asker"], each["writer"]) for each in results["exchanges"]} == {
        ("rft", "sweet"),
        ("sweet", "rft"),
    }
    (critic,) = (each for each in results["critics"] if each["method"] == "sweet")
    assert critic["pairs"] >= 20
    assert critic["accuracy"][1] > 0.5, "the lower end of the interval"

    everything = done(out)
    results_before = (out / "results.json").read_bytes()
    finished(out, said)
    assert done(out) == everything
    assert (out / "results.json").read_bytes() == results_before
    assert "SWEET-RL" in (out / "report" / "reproduction.md").read_text()
