"""Parts of a study that can be told without doing one."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.errors import DataError
from sweet_rl_trainer.study.study import check_saved


def saved(run, step, state="{}"):
    (run / f"checkpoint-{step}").mkdir(parents=True)
    (run / f"checkpoint-{step}" / "trainer_state.json").write_text(state)


def test_a_checkpoint_that_is_gone_or_damaged_is_named(tmp_path):
    run = tmp_path / "rft-0" / "run"
    saved(run, 12)
    saved(run, 24, "{")
    check_saved(run, [12])
    for steps in ([12, 24], [12, 36]):
        told = (
            rf"checkpoint-{steps[-1]}: damaged or gone; delete {run.parent} to run the stage again"
        )
        with pytest.raises(DataError, match=told):
            check_saved(run, steps)
