"""Flags beat the environment, that beats the file; every bad value is named with where it came from."""

from __future__ import annotations

import argparse

import msgspec
import pytest

from colbench.config import RunConfig
from colbench.errors import UserError
from colbench.flags import HELP, add_config_flags, read_config


def read(*argv, environment=None):
    parser = argparse.ArgumentParser()
    add_config_flags(parser)
    return read_config(parser.parse_args(argv), environment or {})


def test_every_field_of_the_configuration_has_a_flag():
    assert set(HELP) == {field.name for field in msgspec.structs.fields(RunConfig)}


def test_without_anything_the_defaults_hold():
    assert read() == RunConfig()


def test_a_flag_beats_the_environment_and_that_beats_the_file(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(
        'trials = 2\nlimit = 5\nseed = 7\nagent = "blank"\nmax-turns = 3\n[agent_args]\na = 1\nb = 2\n'
    )
    config = read(
        "--config",
        str(file),
        "--trials",
        "4",
        "--agent-arg",
        "b=3",
        environment={"COLBENCH_LIMIT": "6"},
    )
    assert (config.trials, config.limit, config.seed, config.max_turns) == (4, 6, 7, 3)
    assert config.agent_args == {"a": 1, "b": 3}


def test_arguments_become_numbers_and_truth_values_where_they_are():
    config = read(
        *"--agent-arg n=2 --agent-arg x=0.5 --agent-arg ok=true --agent-arg path=a=b".split()
    )
    assert config.agent_args == {"n": 2, "x": 0.5, "ok": True, "path": "a=b"}


def test_lists_are_separated_by_commas():
    config = read("--task-ids", "a, b,", "--agent-price", "0.15,0.6")
    assert config.task_ids == ("a", "b")
    assert config.agent_price == (0.15, 0.6)
    assert read("--sandbox-packages", "numpy,pandas").sandbox_packages == ("numpy", "pandas")
    assert read(environment={"COLBENCH_SANDBOX_PACKAGES": "numpy"}).sandbox_packages == ("numpy",)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--trials", "0"], "--trials: expected a whole number >= 1; given: 0"),
        (["--limit", "many"], "--limit: expected a whole number; given: many"),
        (["--scoring", "strict"], "--scoring: expected default or official; given: strict"),
        (["--agent-arg", "volume"], "--agent-arg: `volume` is not NAME=VALUE"),
        (["--agent-price", "1"], "--agent-price: expected two numbers, IN,OUT; given: .'1'."),
        (["--task-ids", " , "], "--task-ids: the list is empty"),
        (["--config", "no-such.toml"], "--config: no-such.toml cannot be read"),
    ],
)
def test_a_bad_flag_is_named_with_its_value(argv, message):
    with pytest.raises(UserError, match=message):
        read(*argv)


def test_a_bad_environment_variable_is_named():
    with pytest.raises(UserError, match="COLBENCH_TRIALS: expected a whole number; given: x"):
        read(environment={"COLBENCH_TRIALS": "x"})


def test_beside_an_earlier_run_variables_count_where_the_command_has_a_flag():
    parser = argparse.ArgumentParser()
    add_config_flags(parser, only=("scoring", "browser", "clip_device"))
    base = RunConfig(seed=7, browser="a", clip_device="cpu")
    environment = {
        "COLBENCH_SEED": "1",
        "COLBENCH_AGENT_ARGS": "not a pair",
        "COLBENCH_BROWSER": "b",
        "COLBENCH_SCORING": "official",
    }
    config = read_config(parser.parse_args(["--scoring", "default"]), environment, base)
    assert config == RunConfig(seed=7, browser="b", clip_device="cpu", scoring="default")


def test_a_bad_file_names_the_file_and_the_key(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text("trails = 2\n")
    with pytest.raises(UserError, match="run.toml: unknown key `trails`; known are domain, agent"):
        read("--config", str(file))
    file.write_text("trials = 'x'\n")
    with pytest.raises(UserError, match="run.toml, key `trials`: expected a whole number"):
        read("--config", str(file))
    file.write_text("trials = \n")
    with pytest.raises(UserError, match="run.toml is no TOML"):
        read("--config", str(file))


def test_a_default_in_a_flag_never_overrides_the_file(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text("max_turns = 3\nhuman = 'openai:m@http://h/v1'\n")
    config = read("--config", str(file), "--seed", "1")
    assert (config.max_turns, config.human, config.seed) == (3, "openai:m@http://h/v1", 1)
