"""Budgets, counted from the outputs of stages."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.cli import main
from sweet_rl_trainer.pipeline.stage import Stage, order
from sweet_rl_trainer.study.budget import counted

TASKS = "generated:backend/train?number=3&families=hotel"


def collecting(seed, **inputs):
    def act(job):
        flags = ("--agent", "guesser", "--tasks", TASKS, "--seed", str(seed), "--trials", "2")
        assert main(["eval", *flags, "--out", str(job.folder / "run")]) == 0
        return {}

    return Stage(name="collect", act=act, settings={"seed": seed}, inputs=inputs)


def training(name, lines, batch_size, iterations=1, **inputs):
    def act(job):
        (job.folder / "run").mkdir()
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (job.folder / "run" / "log.jsonl").write_text(text)
        return {"step": lines[-1]["step"]}

    settings = {"train": {"batch_size": batch_size, "iterations": iterations}, "lines": lines}
    return Stage(name=name, act=act, settings=settings, inputs=inputs)


def sampling(turns, count, **inputs):
    settings = {"own": {"count": count}}
    said = {"turns": turns, "left out": {}}
    return Stage(name="sample", act=lambda _: said, settings=settings, inputs=inputs)


PAIRS = [
    {"step": 10, "loss": 0.7, "length_chosen": 20.0, "length_rejected": 10.0},
    {"step": 10, "eval_loss": 0.7, "eval_length_chosen": 99.0},
    {"step": 15, "loss": 0.6, "length_chosen": 40.0, "length_rejected": 20.0},
    {"step": 18, "train_runtime": 1.0},
]


def test_the_budget_of_a_policy_covers_its_iterations_without_the_base(tmp_path):
    base = training("actor", [{"step": 1000, "loss": 1.0, "length": 9.0}], 8)
    critic = training("critic", [{"step": 7, "loss": 0.5}], 8, data=collecting(0, model=base))
    first = training("actor", PAIRS, 4, model=base, data=critic, candidates=sampling(5, 4))
    policy = training("actor", PAIRS[:1], 2, model=first, data=collecting(1, model=first))
    for stage in order(policy):
        stage.run(tmp_path)
    found = counted(policy, base, "actor", tmp_path, evaluations=48)
    assert (found.dialogues, found.steps, found.critic_steps) == (12, 28, 7)
    logged = (10 * 4 * 30 + 5 * 4 * 60) / 15
    assert found.supervised == pytest.approx((18 * logged + 10 * 2 * 30) / 28)
    assert (found.candidates, found.evaluations) == (20, 48)


@pytest.mark.parametrize(("iterations", "dialogues"), [(1, 480), (2, 240), (4, 144)])
def test_online_dialogues_are_counted_by_step_and_iteration(iterations, dialogues, tmp_path):
    base = training("rft", [{"step": 1000, "loss": 1.0, "length": 9.0}], 8)
    lines = [{"step": step, "loss": 0.0, "completions/mean_length": 100.0} for step in (5, 10)]
    policy = training("grpo", lines, 48, iterations, model=base)
    for stage in order(policy):
        stage.run(tmp_path)
    found = counted(policy, base, "grpo", tmp_path, evaluations=0)
    assert (found.dialogues, found.steps, found.supervised) == (dialogues, 10, 4800.0)


def test_answers_of_a_self_teacher_count_as_candidates(tmp_path):
    base = training("rft", [{"step": 1000, "loss": 1.0, "length": 9.0}], 8)
    answers = Stage(
        name="fic-answers",
        act=lambda _: {"turns": 7, "left out": {}},
        settings={"own": {"knows": "everything", "sample": {"count": 4}}},
        inputs={"model": base},
    )
    policy = training("fic", [{"step": 5, "loss": 0.5, "length": 9.0}], 8, answers=answers)
    for stage in order(policy):
        stage.run(tmp_path)
    assert counted(policy, base, "fic", tmp_path, evaluations=0).candidates == 28


def test_the_base_has_an_empty_budget(tmp_path):
    base = training("rft", [{"step": 1000, "loss": 1.0, "length": 9.0}], 8)
    base.run(tmp_path)
    found = counted(base, base, "", tmp_path, evaluations=0)
    assert (found.dialogues, found.steps, found.supervised, found.seconds) == (0, 0, None, 0.0)


def test_supervised_tokens_are_unknown_without_training_logs(tmp_path):
    base = training("rft", [{"step": 1000, "loss": 1.0, "length": 9.0}], 8)
    policy = training("actor", [{"step": 8, "train_runtime": 1.0}], 4, model=base)
    for stage in order(policy):
        stage.run(tmp_path)
    found = counted(policy, base, "actor", tmp_path, evaluations=0)
    assert (found.steps, found.supervised) == (8, None)
