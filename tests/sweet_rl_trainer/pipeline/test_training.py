"""A training as a stage: its estimate, and the peak memory of its first process."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from sweet_rl_trainer.pipeline.stage import Amount, Known
from sweet_rl_trainer.pipeline.training import estimate
from sweet_rl_trainer.settings import TrainSettings

SETTINGS = TrainSettings(batch_size=2, epochs=3)


def known(**options):
    """Return the inputs of a later iteration, whose model does not exist yet."""
    return Known(inputs={}, amounts={"data": Amount(examples=4)}, said=None, **options)


def test_memory_is_estimated_from_the_model_folder_of_the_recipe(small):
    found = estimate(known(), SETTINGS, small())
    assert found.steps == 6
    assert found.memory > 0
    assert found.note == ""


def test_memory_is_not_estimated_without_models(small):
    found = estimate(known(with_models=False), SETTINGS, small())
    assert (found.steps, found.memory) == (6, None)


@pytest.mark.weekly
@pytest.mark.parametrize(("rank", "written"), [("0", True), ("1", False)])
def test_only_the_first_process_writes_its_peak_memory(rank, written, tmp_path):
    worker = [sys.executable, "-m", "sweet_rl_trainer.pipeline.worker", "pathlib:Path"]
    subprocess.run([*worker, str(tmp_path)], env={**os.environ, "RANK": rank}, check=True)
    path = tmp_path / "memory.json"
    assert path.is_file() is written
    if written:
        assert json.loads(path.read_bytes()) > 2**20
