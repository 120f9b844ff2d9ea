"""Runs in their own process, which follow their configuration."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from colbench.config import RunConfig
from colbench.run_folder import RunFolder
from sweet_rl_trainer.agents.dialogues import run_dialogues


@pytest.mark.weekly
def test_a_run_follows_its_config_regardless_of_environment_variables(tmp_path, monkeypatch):
    monkeypatch.setenv("COLBENCH_LIMIT", "1")
    monkeypatch.setenv("COLBENCH_MAX_TURNS", "1")
    config = RunConfig(agent="guesser", tasks="bundled:backend", limit=2, seed=3)
    with (tmp_path / "log.txt").open("wb") as log:
        assert run_dialogues(config, tmp_path / "run", log) == 0
        assert run_dialogues(config, tmp_path / "run", log) == 0
        assert run_dialogues(replace(config, agent="nobody"), tmp_path / "none", log) == 2
    folder = RunFolder(tmp_path / "run")
    assert folder.record().config == config
    assert len(folder.rollouts()) == 2
    written = (tmp_path / "run.config.json").read_bytes()
    assert msgspec.json.decode(written, type=RunConfig) == config
    assert "--agent nobody: unknown" in (tmp_path / "log.txt").read_text()
