"""`sweet-rl reproduce --quick`: every part of the study, killed on the way; asserts only what must hold."""

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

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent
METHODS = {"zero-shot", "rft", "mtdpo", "sweet", "pmi"}


def study(out: Path) -> subprocess.Popen[str]:
    flags = ("--quick", "--seeds", "1", "--out", str(out))
    return subprocess.Popen(
        [BIN / "sweet-rl", "reproduce", *flags], stderr=subprocess.PIPE, text=True
    )


def killed_at(out: Path, stage: str) -> None:
    """Start, and kill as soon as that stage has a log."""
    process = study(out)
    while not list(out.glob(f"{stage}-*/run/log.jsonl")):
        assert process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(0.5)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def finished(out: Path) -> str:
    _, said = (process := study(out)).communicate()
    assert process.returncode == 0, said
    return said


def log(out: Path, stage: str) -> list[dict]:
    (path,) = out.glob(f"{stage}-*/run/log.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_quick_study_resumes_and_its_critic_has_learnt_something(tmp_path: Path):
    out = tmp_path / "study"
    killed_at(out, "critic")
    base = {path: os.stat(path).st_mtime_ns for path in out.glob("rft-*/run/model/*.safetensors")}
    finished(out)
    assert base
    assert all(os.stat(path).st_mtime_ns == time for path, time in base.items())

    results = json.loads((out / "results.json").read_text())
    assert {row["method"] for row in results["rows"]} == METHODS
    assert all(len(row["test"]) == len(results["rows"][0]["test"]) for row in results["rows"])

    critic = log(out, "critic")
    losses = [line["loss"] for line in critic if "loss" in line]
    assert losses[-1] < losses[0]
    (judged,) = (each for each in results["critics"] if each["method"] == "sweet")
    assert judged["accuracy"][0] > 0.5

    report = (out / "report" / "reproduction.md").read_text()
    assert "SWEET-RL" in report
    before = (out / "results.json").read_bytes()
    finished(out)
    assert (out / "results.json").read_bytes() == before
