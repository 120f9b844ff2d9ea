"""The demonstrators: mediocre and varied, the same for the same seed, and right where they know."""

from __future__ import annotations

import json

import pytest

from colbench.cli import main
from colbench_agents.demonstrator import BESIDE

TASKS = "generated:backend/train?number=60&families=tolls,hotel,shipping"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demonstrators")
    for name, flags in {"first": (), "again": (), "told": (f"--agent-arg=knows={TASKS}",)}.items():
        own = ("--agent", "demonstrator", "--tasks", TASKS, *flags)
        assert main(["eval", *own, "--out", str(folder / name)]) == 0
    return {each.name: rollouts(each) for each in folder.iterdir()}


def rollouts(folder):
    lines = map(json.loads, (folder / "rollouts.jsonl").read_text().splitlines())
    return {each["task_id"]: each for each in lines}


def said(run):
    return {name: [turn["raw"] for turn in each["turns"]] for name, each in run.items()}


def successes(run):
    return sum(each["scores"]["default"]["success"] for each in run.values())


def test_they_are_mediocre_and_those_who_know_are_right(runs):
    assert 6 <= successes(runs["first"]) <= 30
    assert successes(runs["told"]) == 60


def test_they_differ_in_patience_and_in_what_they_ask(runs):
    turns = [len(each) for each in said(runs["first"]).values()]
    assert min(turns) <= 2
    assert max(turns) == 10
    beside = [sum(text in BESIDE for text in each) for each in said(runs["first"]).values()]
    assert min(beside) == 0
    assert max(beside) >= 3


def test_the_same_seed_gives_the_same_dialogue(runs):
    assert said(runs["first"]) == said(runs["again"])


def test_tasks_that_they_cannot_know_are_refused(tmp_path, capsys):
    flags = ("--agent", "demonstrator", "--agent-arg", "knows=bundled:backend/train")
    assert main(["eval", *flags, "--out", str(tmp_path / "run")]) == 2
    assert "generated:backend/SEED" in capsys.readouterr().err
