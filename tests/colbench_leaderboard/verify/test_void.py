"""Cells excluded from the mean by the receiver alone: those of a task that its own scorer cannot judge."""

from __future__ import annotations

import json

import pytest

from colbench.cli import main
from colbench.task import read_tasks, row_from_task
from colbench_leaderboard.bundle.draft import draft
from colbench_leaderboard.bundle.pack import pack
from colbench_leaderboard.bundle.read import read_bundle


@pytest.fixture
def rows(place):
    """Return a task that cannot be judged, because its reference raises, and a sound one."""
    rows = [row_from_task(task) for task in read_tasks(place / "tasks.jsonl")[:2]]
    name = rows[0]["problem_description"].rpartition("def ")[2].partition("(")[0]
    rows[0]["ground_truth"] = f"def {name}(*inputs):\n    raise ValueError('never')"
    rows[0].pop("facts")
    return rows


@pytest.fixture
def made(interviewer, tmp_path):
    """Return a function that makes the flag with some tasks, and the bundle of an agent on them, two trials each."""

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


def test_a_task_that_cannot_be_judged_is_left_out_and_noted(rows, made, verify):
    flags, bundle = made(rows)
    receipt = verify(bundle, *flags, code=0)
    (note,) = receipt["findings"]
    assert (note["rule"], note["severity"]) == ("score.void", "note")
    tasks, summary = results(verify)
    assert tasks == {rows[1]["id"]}
    assert (summary["tasks"], summary["trials"]) == (1, 2)


def test_a_task_that_cannot_be_judged_is_left_out_though_the_agent_failed_on_it(
    rows, made, place, verify
):
    flags, bundle = made(rows, f"{place / 'agents.py'}:Crashes", code=1)
    receipt = verify(bundle, *flags, code=0)
    assert "score.void" in {found["rule"] for found in receipt["findings"]}
    assert results(verify)[0] == {rows[1]["id"]}


def test_a_task_that_cannot_be_judged_is_left_out_though_its_cells_are_missing(
    rows, made, forge, verify
):
    flags, bundle = made(rows)

    def leave_out(lines):
        lines[:] = [line for line in lines if line["task_id"] != rows[0]["id"]]

    receipt = verify(forge(bundle, leave_out), *flags, code=0)
    assert "score.void" in {found["rule"] for found in receipt["findings"]}
    assert results(verify)[0] == {rows[1]["id"]}


def test_an_entry_without_a_task_that_can_be_judged_is_refused(rows, made, verify):
    flags, bundle = made(rows[:1])
    assert verify.rules(bundle, *flags, code=1) == {"score.none"}
