"""A prying Python agent: it reaches everything in the process of the run and nothing in an isolated process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import colbench
import colbench_tasks
from colbench.rollout import Rollout, read_rollouts
from colbench.sandbox.agent import why_not_open

PRYING = Path(__file__).with_name("prying_agent.py")
WORD = "xyzzy-4711"
TASK = {
    "problem_description": "def f(x)?",
    "ground_truth": f"def f(x):\n    return '{WORD}'",
    "test_cases": {"test1": "f(1)"},
}
ISOLATED = "own process, isolated (bubblewrap)"


@pytest.fixture(scope="module", autouse=True)
def _isolates() -> None:
    if reason := why_not_open():
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


def evaluate(place: Path, agent: str, *flags: str) -> tuple[Rollout, dict]:
    """Run the agent on the one task in a new folder; return its rollout and the agent's description."""
    place.mkdir()
    shutil.copy(PRYING, place)
    (place / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    package = Path(colbench_tasks.__file__).parent
    plan = {
        "word": WORD,
        "tasks": str(place / "tasks.jsonl"),
        "out": str(place / "out"),
        "package": str(package),
        "packages": [str(package.parent)],
        "code": colbench.__file__,
    }
    (place / "plan.json").write_text(json.dumps(plan))
    command = [sys.executable, "-m", "colbench.cli", "eval", "--agent", f"{PRYING.name}:{agent}"]
    command += ["--tasks", "tasks.jsonl", "--out", "out", *flags]
    environment = {**os.environ, "COLBENCH_SEED": "0"}
    with subprocess.Popen(
        command, cwd=place, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as harness:
        (place / "harness.pid").write_text(str(harness.pid))
        said, _ = harness.communicate()
    assert harness.returncode == 0, said.decode()
    (rollout,) = read_rollouts(place / "out" / "rollouts.jsonl")
    return rollout, json.loads((place / "out" / "run.json").read_text())["pins"]["agent"]


def test_an_isolated_agent_reaches_nothing_of_a_task_or_a_run(tmp_path):
    free, described = evaluate(tmp_path / "free", "Prying", "--in-process")
    assert described["process"] == "in-process"
    reached = json.loads(free.answer)
    unreached = [name for name, success in reached.items() if not success]
    of_others = [] if os.access(colbench.__file__, os.W_OK) else ["writing into the harness's code"]
    assert unreached == of_others, "it can do what the user can"
    isolated, described = evaluate(tmp_path / "isolated", "Prying")
    assert described["process"] == ISOLATED
    reached = json.loads(isolated.answer)
    assert [name for name, success in reached.items() if success] == []


@pytest.mark.slow
def test_an_agent_in_the_sandbox_reaches_nothing_of_a_task_or_a_run(tmp_path):
    isolated, described = evaluate(tmp_path / "isolated", "Prying", "--agent-sandbox")
    assert described["process"] == ISOLATED
    reached = json.loads(isolated.answer)
    assert [name for name, success in reached.items() if success] == []


@pytest.mark.slow
def test_an_isolated_agent_cannot_patch_the_scorer_of_the_run(tmp_path):
    free, _ = evaluate(tmp_path / "free", "Patching", "--in-process")
    assert free.scores["default"].value == 1.0
    isolated, _ = evaluate(tmp_path / "isolated", "Patching")
    assert isolated.scores["default"].value == 0.0
    assert isolated.answer == "nothing"
