"""Configurations as flags, read back by the command itself, and the command run for real."""

from __future__ import annotations

import argparse

from msgspec.structs import replace

from colbench.config import RunConfig
from colbench.flags import add_config_flags, read_config
from colbench.run_folder import RunFolder
from sweet_rl_trainer.harness import evaluate, flags

CHANGED = RunConfig(
    domain="backend",
    agent="openai:model@http://localhost:1/v1",
    agent_args={"temperature": 0.5, "seed": False, "max_tokens": 7},
    agent_prompt="a prompt.txt",
    agent_sandbox=True,
    agent_endpoint="localhost:8000",
    agent_env=("ONE", "TWO"),
    tasks="tasks, all.jsonl",
    human="openai:human",
    human_args={"max_chars": 400},
    human_prompt="another.txt",
    scoring="official",
    record_tokens=True,
    max_turns=3,
    trials=4,
    seed=5,
    limit=6,
    task_ids=("one", "two"),
    concurrency=7,
    dialogue_timeout=8.5,
    sandbox_workers=2,
    sandbox_packages=("numpy", "pandas"),
    allow_unsafe_sandbox=True,
    browser="/a/browser",
    browser_workers=3,
    clip_weights="weights.pt",
    clip_device="cpu",
    allow_other_clip=True,
    baseline="run",
    agent_price=(1.0, 2.5),
    human_price=(0.0, 3.0),
)


def read_back(given):
    parser = argparse.ArgumentParser()
    add_config_flags(parser)
    return read_config(parser.parse_args(given), environment={})


def test_every_field_comes_back_from_its_flag():
    usual = RunConfig()
    assert all(getattr(CHANGED, name) != getattr(usual, name) for name in usual.__struct_fields__)
    assert read_back(flags(CHANGED)) == CHANGED
    assert flags(usual) == []


def test_a_run_is_made_as_configured_whatever_the_environment_says(tmp_path, monkeypatch):
    monkeypatch.setenv("COLBENCH_LIMIT", "1")
    monkeypatch.setenv("COLBENCH_MAX_TURNS", "1")
    config = RunConfig(agent="guesser", tasks="bundled:backend", limit=2, seed=3)
    with (tmp_path / "log.txt").open("wb") as log:
        assert evaluate(config, tmp_path / "run", log) == 0
        assert evaluate(replace(config, agent="nobody"), tmp_path / "none", log) == 2
    folder = RunFolder(tmp_path / "run")
    assert folder.record().config == config
    assert len(folder.rollouts()) == 2
    assert "--agent nobody: unknown" in (tmp_path / "log.txt").read_text()
