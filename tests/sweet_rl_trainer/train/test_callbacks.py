"""Console output of a training."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from sweet_rl_trainer.train.callbacks import OnConsole


def test_the_last_progress_line_is_printed_once(capsys):
    shown = OnConsole()
    state = SimpleNamespace(
        is_world_process_zero=True, max_steps=2, global_step=1, log_history=[{"loss": 0.5}]
    )
    shown.on_train_begin(None, state, None)
    shown.on_log(None, state, None)
    state.global_step, state.log_history = 2, [{"loss": 0.25}]
    shown.on_log(None, state, None)
    shown.stop()
    state.log_history = [{"train_runtime": 1.0}]
    shown.on_log(None, state, None)
    shown.stop()
    assert capsys.readouterr().err.splitlines() == ["1/2 · loss 0.5", "2/2 · loss 0.25"]
