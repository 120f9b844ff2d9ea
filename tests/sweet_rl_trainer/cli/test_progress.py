"""The console output of a run."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.errors import UserError
from sweet_rl_trainer.cli.progress import run_all, show_result
from sweet_rl_trainer.pipeline.page import Run
from sweet_rl_trainer.pipeline.read import convert
from sweet_rl_trainer.pipeline.stage import Stage


def printed_lines(capsys):
    """Return the lines on standard error, without times."""
    return re.sub(r"done in [\d.]+ s", "done in 0.0 s", capsys.readouterr().err).splitlines()


def test_each_stage_prints_what_it_made_and_left_out(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    said = {
        "turns": 1234,
        "held_out": 5,
        "model": "0123456789abcdef0123456789abcdef",
        "forms": {"one": 1},
        "nothing": None,
        "unit": "pairs",
        "left out": {"no reward": 2},
    }
    pages = []
    losses = {"loss": 0.71234, "step": 10, "grad_norm": 3.0}
    stages = [
        Stage(name="sample", act=lambda _: said, settings=1),
        Stage(name="critic", act=lambda _: losses, settings=1, shows=("step", "loss")),
    ]
    run_all(stages, tmp_path, pages.append)
    first, second, third, fourth = printed_lines(capsys)
    assert first == f"[1/2] sample: {stages[0].folder(tmp_path)}"
    assert second.startswith(
        "[1/2] sample: done in 0.0 s (turns 1,234, pairs held out 5, model 0123456789"
    )
    assert second.endswith("ab…, left out: no reward: 2)")
    assert third == f"[2/2] critic: {stages[1].folder(tmp_path)}"
    assert fourth == "[2/2] critic: done in 0.0 s (step 10, loss 0.7123)"
    run_all(stages, tmp_path, pages.append)
    again = printed_lines(capsys)
    assert again[0].startswith("[1/2] sample: already done (turns 1,234, ")
    assert again[1] == "[2/2] critic: already done (step 10, loss 0.7123)"
    assert pages == [*stages, None, None]


@pytest.mark.parametrize("error", [UserError, KeyboardInterrupt])
def test_the_page_of_a_run_that_fails_shows_no_stage_as_running(tmp_path, error):
    def fail(_):
        raise error

    pages = []
    stages = [Stage(name=name, act=fail, settings=1) for name in ("sample", "critic")]
    with pytest.raises(error):
        run_all(stages, tmp_path, pages.append)
    assert pages == [stages[0], None]


OWN = {
    "agent": "local:{model}",
    "agent_args": {"max_tokens": 32},
    "max_turns": 3,
    "limit": 20,
    "tasks": "bundled:backend",
}


@pytest.mark.parametrize(
    ("evaluate", "command"),
    [
        ([], "vllm:{} --tasks bundled:backend --domain backend (or local:… without a server)"),
        (
            [{"agent": "guesser"}, OWN],
            "local:{} --agent-arg max_tokens=32 --tasks bundled:backend --limit 20 --max-turns 3",
        ),
    ],
)
def test_the_result_names_the_checkpoint_the_report_and_the_eval_command(
    evaluate, command, tmp_path, capsys
):
    recipe = convert({"model": {"name": "m"}, "evaluate": evaluate}, "recipe")
    stages = [Stage(name="export", act=lambda _: {}, settings=1)]
    show_result(
        Run(recipe=recipe, paper=recipe, goal="actor", stages=stages, out=tmp_path), as_json=False
    )
    model = stages[0].folder(tmp_path) / "model"
    said = capsys.readouterr()
    assert said.out == f"{model}\n"
    assert said.err.splitlines() == [
        f"Report: {tmp_path}/index.html",
        f"evaluate it: colbench eval --agent {command.format(model)}",
    ]
