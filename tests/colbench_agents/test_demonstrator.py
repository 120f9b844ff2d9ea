"""The demonstrators: mediocre and varied, the same for the same seed, and right if they know the tasks."""

from __future__ import annotations

import json

import pytest

from colbench.cli import main
from colbench_agents.demonstrator import BESIDE
from colbench_tasks import generated

TASKS = "generated:backend/train?number=60&families=tolls,hotel,shipping"
FACTS = {task.hash: task.hidden.facts for task in generated.load(TASKS.removeprefix("generated:"))}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demonstrators")
    flags_of = {
        "first": (),
        "again": (),
        "told": (f"--agent-arg=knows={TASKS}",),
        "careful": ("--agent-arg=slips=false", "--agent-arg=persona=turn"),
    }
    for name, flags in flags_of.items():
        own = ("--agent", "demonstrator", "--tasks", TASKS, *flags)
        assert main(["eval", *own, "--out", str(folder / name)]) == 0
    return {each.name: rollouts(each) for each in folder.iterdir()}


def rollouts(folder):
    lines = map(json.loads, (folder / "rollouts.jsonl").read_text().splitlines())
    return {each["task_id"]: each for each in lines}


def said(run):
    return {name: [turn["raw"] for turn in each["turns"]] for name, each in run.items()}


def told(rollout):
    return {name for turn in rollout["turns"] for name in turn.get("told", ())}


def hidden(rollout):
    return {fact.name for fact in FACTS[rollout["task_hash"]] if not fact.stated}


def successes(run):
    return sum(each["scores"]["default"]["success"] for each in run.values())


@pytest.mark.weekly
def test_demonstrators_solve_some_tasks_and_all_tasks_that_they_know(runs):
    assert 6 <= successes(runs["first"]) <= 30
    assert successes(runs["told"]) == 60


@pytest.mark.weekly
def test_demonstrators_differ_in_dialogue_length_and_irrelevant_questions(runs):
    turns = [len(each) for each in said(runs["first"]).values()]
    assert min(turns) <= 2
    assert max(turns) == 10
    beside = [sum(text in BESIDE for text in each) for each in said(runs["first"]).values()]
    assert min(beside) == 0
    assert max(beside) >= 3


def test_the_same_seed_gives_the_same_dialogue(runs):
    assert said(runs["first"]) == said(runs["again"])


def test_knows_with_tasks_that_are_not_generated_is_refused(tmp_path, capsys):
    flags = ("--agent", "demonstrator", "--agent-arg", "knows=bundled:backend/train")
    assert main(["eval", *flags, "--out", str(tmp_path / "run")]) == 2
    assert "generated:backend/SEED" in capsys.readouterr().err


def test_a_demonstrator_without_slips_succeeds_if_told_all_facts(runs):
    told_all = [each for each in runs["careful"].values() if told(each) == hidden(each)]
    assert len(told_all) >= 10
    assert successes(dict(enumerate(told_all))) == len(told_all)
    assert successes(runs["careful"]) < 60


def test_some_demonstrators_with_slips_fail_though_told_all_facts(runs):
    told_all = [each for each in runs["first"].values() if told(each) == hidden(each)]
    assert 0 < successes(dict(enumerate(told_all))) < len(told_all)


def test_an_unknown_persona_is_refused(tmp_path, capsys):
    flags = ("--agent", "demonstrator", "--agent-arg", "persona=week")
    assert main(["eval", *flags, "--out", str(tmp_path / "run")]) == 2
    assert "persona=week: expected dialogue or turn" in capsys.readouterr().err
