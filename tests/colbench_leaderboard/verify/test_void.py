"""Tasks that the receiver's scorer cannot judge: their cells are left out of the means. Machines that cannot judge."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from colbench.cli import main
from colbench.errors import UserError
from colbench.rollout import Failure, Rollout, Turn
from colbench.task import read_tasks, row_from_task
from colbench_leaderboard.bundle.draft import draft
from colbench_leaderboard.bundle.pack import pack
from colbench_leaderboard.bundle.read import Cell, read_bundle
from colbench_leaderboard.verify.guessing import GuessRates
from colbench_leaderboard.verify.judging import Judge


@pytest.fixture
def rows(workspace):
    """Return two tasks: one that cannot be judged, because its reference raises, and a valid one."""
    rows = [row_from_task(task) for task in read_tasks(workspace / "tasks.jsonl")[:2]]
    name = rows[0]["problem_description"].rpartition("def ")[2].partition("(")[0]
    rows[0]["ground_truth"] = f"def {name}(*inputs):\n    raise ValueError('never')"
    rows[0].pop("facts")
    return rows


@pytest.fixture
def make_bundle(interviewer, tmp_path):
    """Return a function that runs an agent on tasks with two trials, and returns the flag `--tasks` and the bundle."""

    def make(rows, agent="blank", code=0):
        tasks = tmp_path / "tasks.jsonl"
        tasks.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        run, bundle = tmp_path / "run", tmp_path / "bundle"
        argv = ["eval", "--tasks", str(tasks), "--agent", agent, "--trials", "2"]
        assert main([*argv, "--out", str(run), "--sandbox-workers", "1"]) == code
        with read_bundle(interviewer) as other:
            pack(draft(run, other.submission), bundle)
        return ("--tasks", str(tasks)), bundle

    return make


def results(verify):
    """Return the tasks that have scores, and the summary."""
    folder = verify.folder / "verified"
    scores = map(json.loads, (folder / "scores.jsonl").read_text().splitlines())
    return {score["task_id"] for score in scores}, json.loads((folder / "summary.json").read_text())


def test_a_task_that_cannot_be_judged_is_left_out_and_noted(rows, make_bundle, verify):
    flags, bundle = make_bundle(rows)
    receipt = verify(bundle, *flags, code=0)
    (note,) = receipt["findings"]
    assert (note["rule"], note["severity"]) == ("score.void", "note")
    tasks, summary = results(verify)
    assert tasks == {rows[1]["id"]}
    assert (summary["tasks"], summary["trials"]) == (1, 2)


def test_a_task_that_cannot_be_judged_is_left_out_even_if_the_agent_failed(
    rows, make_bundle, workspace, verify
):
    flags, bundle = make_bundle(rows, f"{workspace / 'agents.py'}:Crashes", code=1)
    receipt = verify(bundle, *flags, code=0)
    assert "score.void" in {found["rule"] for found in receipt["findings"]}
    assert results(verify)[0] == {rows[1]["id"]}


def test_a_task_that_cannot_be_judged_is_left_out_even_if_its_cells_are_missing(
    rows, make_bundle, forge, verify
):
    flags, bundle = make_bundle(rows)

    def leave_out(lines):
        lines[:] = [line for line in lines if line["task_id"] != rows[0]["id"]]

    receipt = verify(forge(bundle, leave_out), *flags, code=0)
    assert "score.void" in {found["rule"] for found in receipt["findings"]}
    assert results(verify)[0] == {rows[1]["id"]}


def test_an_entry_without_a_task_that_can_be_judged_is_refused(rows, make_bundle, verify):
    flags, bundle = make_bundle(rows[:1], code=1)
    assert verify.rules(bundle, *flags, code=1) == {"score.none"}


class BrokenMachine:
    """A session whose sandbox always fails."""

    resources = SimpleNamespace(workers=1, scorers=lambda: {"backend": None})

    async def score(self, rollout, task):
        return replace(rollout, failure=Failure(boundary="sandbox", reason="no memory"))


def test_a_machine_that_cannot_judge_is_reported_with_the_boundary_that_failed(workspace):
    task = read_tasks(workspace / "tasks.jsonl")[0]
    rollout = Rollout(
        key="", task_id=task.id, task_hash=task.hash, domain="backend", trial=0, seed=0, request="",
        turns=(Turn(raw="x", said="x"),), answer="x", ended_by="answer",
    )  # fmt: skip

    async def judge():
        judges = Judge(BrokenMachine(), "backend", GuessRates([]), keyless=True)
        return [each async for each in judges.judged([(Cell("", 1, rollout), task, False)])]

    with pytest.raises(UserError) as caught:
        asyncio.run(judge())
    said = f"this machine cannot judge the bundle: sandbox: {task.id}: no memory"
    assert str(caught.value) == said
