"""GRPO as a stage of a recipe."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")
pytest.importorskip("trl", reason="TRL is not installed (colbench[grpo])")

from colbench.errors import UserError
from colbench.rollout import read_rollouts
from colbench.selection import load_tasks
from sweet_rl_trainer.pipeline.plan import plan
from sweet_rl_trainer.pipeline.read import read

TINY = (
    *("grpo.train.group_size=2", "grpo.train.batch_size=2", "grpo.train.rows=2"),
    *("grpo.train.steps=1", "grpo.train.save_every=1", "grpo.train.max_new_tokens=2"),
    *("grpo.train.precision=float32", "grpo.train.gradient_checkpointing=false"),
    *("grpo.dialogues.max_turns=2", "grpo.dialogues.sandbox_workers=1"),
    "grpo.dialogues.allow_unsafe_sandbox=true",
)


@pytest.fixture
def stage(small_recipe):
    """Return `stage("grpo.train.steps=2", …)`: the stage of a short training with these changes."""
    return lambda *changes: plan(read(str(small_recipe), [*TINY, *changes]), "grpo")[0]


@pytest.mark.weekly
def test_training_reports_its_peak_memory_and_uses_only_the_named_tasks(stage, tmp_path):
    wanted = load_tasks("bundled:backend/train")[3].id
    trained = stage(f'grpo.dialogues.task_ids=["{wanted}"]')
    said = trained.run(tmp_path).said
    assert 2**20 < said["memory"] < 2**36
    (path,) = (trained.folder(tmp_path) / "run" / "rollouts").iterdir()
    assert [each.task_id for each in read_rollouts(path)] == [wanted, wanted]


@pytest.mark.weekly
def test_a_task_that_does_not_exist_is_named(stage, tmp_path, capfd):
    with pytest.raises(UserError, match="training failed with exit code 2"):
        stage('grpo.dialogues.task_ids=["nothing"]').run(tmp_path)
    assert "--task-ids: bundled:backend/train has no nothing" in capfd.readouterr().err
