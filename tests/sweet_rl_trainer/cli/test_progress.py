"""What a run says of its stages."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from sweet_rl_trainer.cli.show import duration, progress
from sweet_rl_trainer.stages.stage import Stage


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.04, "0.0 s"),
        (12.34, "12.3 s"),
        (60, "1 min 0 s"),
        (119.7, "2 min 0 s"),
        (250, "4 min 10 s"),
        (3600, "1 h 0 min"),
        (7530, "2 h 5 min"),
    ],
)
def test_durations_are_said_in_words(seconds, words):
    assert duration(seconds) == words


def test_each_stage_says_what_it_made_and_what_it_left_out(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    said = {
        "turns": 1234,
        "held_out": 5,
        "model": "0123456789abcdef0123456789abcdef",
        "forms": {"one": 1},
        "nothing": None,
        "left out": {"no reward": 2},
    }
    losses = {"loss": 0.71234, "step": 10, "grad_norm": 3.0}
    stages = [
        Stage(name="sample", act=lambda _: said, settings=1),
        Stage(name="critic", act=lambda _: losses, settings=1),
    ]
    progress(stages, tmp_path)
    first, second, third, fourth = capsys.readouterr().err.splitlines()
    assert first == f"[1/2] sample: {stages[0].folder(tmp_path)}"
    assert second.startswith(
        "[1/2] sample: done in 0.0 s (turns 1,234, held out 5, model 0123456789"
    )
    assert second.endswith("ab…, left out: no reward: 2)")
    assert third == f"[2/2] critic: {stages[1].folder(tmp_path)}"
    assert fourth == "[2/2] critic: done in 0.0 s (step 10, loss 0.7123)"
    progress(stages, tmp_path)
    again = capsys.readouterr().err.splitlines()
    assert again[0].startswith("[1/2] sample: there already (turns 1,234, ")
    assert again[1] == "[2/2] critic: there already (step 10, loss 0.7123)"
