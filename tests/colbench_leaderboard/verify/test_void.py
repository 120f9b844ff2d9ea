"""Cells excluded from the mean by the receiver alone: those of a task that its own scorer cannot judge."""

from __future__ import annotations

import json

from colbench.cli import main
from colbench.task import read_tasks, row_from_task
from colbench_leaderboard.bundle.draft import draft
from colbench_leaderboard.bundle.pack import pack
from colbench_leaderboard.bundle.read import read_bundle


def test_a_task_that_cannot_be_judged_is_left_out_and_noted(interviewer, place, tmp_path, verify):
    rows = [row_from_task(task) for task in read_tasks(place / "tasks.jsonl")[:2]]
    name = rows[0]["problem_description"].rpartition("def ")[2].partition("(")[0]
    rows[0]["ground_truth"] = f"def {name}(*inputs):\n    raise ValueError('never')"
    rows[0].pop("facts")
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    run, bundle = tmp_path / "run", tmp_path / "bundle"
    argv = ["eval", "--tasks", str(tasks), "--agent", "blank", "--trials", "2", "--out", str(run)]
    assert main([*argv, "--sandbox-workers", "1"]) == 0
    with read_bundle(interviewer) as other:
        pack(draft(run, other.submission), bundle)

    receipt = verify(bundle, "--tasks", str(tasks), code=0)
    (note,) = receipt["findings"]
    assert (note["rule"], note["severity"]) == ("score.void", "note")
    scores = (verify.folder / "verified/scores.jsonl").read_text().splitlines()
    assert {json.loads(score)["task_id"] for score in scores} == {rows[1]["id"]}
    summary = json.loads((verify.folder / "verified/summary.json").read_text())
    assert (summary["tasks"], summary["trials"]) == (1, 2)
