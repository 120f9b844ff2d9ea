"""Packing keeps little of each dialogue in memory."""

from __future__ import annotations

import pytest

import colbench

TASKS = 60
FEW, MANY = 10, 95
"""Numbers of trials of each task."""
BYTES = 2_000
"""Maximum memory for each additional dialogue. A dialogue that stays in memory takes at least 15,000 bytes."""
SUBMISSION = """
name = "Many"
organization = "ColBench"
authors = ["A. Person"]
contact = "somebody@example.org"
track = "open"
description = "Many trials."
models = []

[disclosures]
trained_on_colbench = false
human_in_the_loop = false
tools = "none"
"""


@pytest.mark.weekly
def test_packing_memory_hardly_grows_with_the_number_of_dialogues(
    tmp_path, multiplied, peak_memory
):
    meta = tmp_path / "submission.toml"
    meta.write_text(SUBMISSION)
    colbench.evaluate(agent="demonstrator", limit=TASKS, out=tmp_path / "run")

    def measure(trials):
        run = multiplied(tmp_path / "run", tmp_path / f"{trials}", trials)
        return peak_memory("submit", "pack", run, "--meta", meta)

    assert (measure(MANY) - measure(FEW)) / (TASKS * (MANY - FEW)) < BYTES
