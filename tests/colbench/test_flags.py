"""Flags override environment variables, which override the file. Every bad value is reported with its source."""

from __future__ import annotations

import argparse
import json

import msgspec
import pytest

from colbench.cli import main
from colbench.config import RunConfig, settings
from colbench.errors import UserError
from colbench.flags import (
    OTHER_VARIABLES,
    add_config_flags,
    command_flags,
    is_given_by_flags,
    read_config,
)


def read(*argv, environment=None):
    parser = argparse.ArgumentParser()
    add_config_flags(parser)
    return read_config(parser.parse_args(argv), environment or {})


CHANGED = RunConfig(
    scorers=("brevity",),
    domain="backend",
    agent="openai:model@http://localhost:1/v1",
    agent_args={"temperature": 0.5, "seed": False, "max_tokens": 7},
    agent_prompt="a prompt.txt",
    in_process=True,
    agent_write=("logs", "more logs"),
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
    shard=(2, 3),
    task_ids=("one", "two"),
    concurrency=7,
    processes="auto",
    executor="ray:head:6379",
    dialogue_timeout=8.5,
    endpoint_patience=9.5,
    sandbox_workers=2,
    sandbox_tier="T1",
    sandbox_packages=("numpy", "pandas"),
    allow_unsafe_sandbox=True,
    browser="/a/browser",
    browser_workers=3,
    clip_weights="weights.pt",
    clip_device="cpu",
    allow_other_clip=True,
    told="all",
    ceiling="c",
    baseline="run",
    agent_price=(1.0, 2.5),
    human_price=(0.0, 3.0),
)


def test_every_setting_survives_a_round_trip_through_its_flag():
    usual = RunConfig()
    assert all(getattr(CHANGED, name) != getattr(usual, name) for name in usual.__struct_fields__)
    assert read(*command_flags(CHANGED)) == CHANGED
    assert command_flags(usual) == []


@pytest.mark.parametrize(
    ("changes", "given"),
    [
        ({"agent": "-x.py:A", "agent_args": {"v": "-1.5e", "text": "--all"}}, True),
        ({"agent_args": {"text": "123"}}, False),
        ({"agent_args": {"text": "true"}}, False),
        ({"agent_args": {"text": "nan"}}, False),
        ({"task_ids": ("a,b",)}, False),
    ],
)
def test_it_is_known_whether_flags_can_give_a_configuration(changes, given):
    config = RunConfig(**changes)
    assert is_given_by_flags(config) == given
    if given:
        assert read(*command_flags(config)) == config


def test_every_setting_survives_a_round_trip_through_a_json_file(tmp_path):
    file = tmp_path / "run.json"
    for config in (CHANGED, RunConfig(agent="blank", tasks="bundled:backend")):
        file.write_bytes(msgspec.json.encode(config))
        assert read("--config", str(file)) == config


def test_the_help_shows_the_flags_in_groups_with_their_defaults():
    parser = argparse.ArgumentParser()
    add_config_flags(parser)
    text = " ".join(parser.format_help().split())
    titles = ["agent:", "human:", "tasks:", "run:", "scoring:", "sandbox:", "browser:"]
    places = [text.index(f" {title} --") for title in titles]
    assert places == sorted(places)
    for setting in settings().values():
        assert f"{setting.flag} {setting.metavar}".strip() in text
        assert " ".join(setting.text.split()) in text
        assert f"(default: {setting.default})" in text or not setting.default


def test_unset_settings_have_their_defaults():
    assert read() == RunConfig()


def test_flags_override_the_environment_which_overrides_the_file(tmp_path):
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


def test_agent_arguments_are_parsed_as_numbers_and_booleans():
    config = read(
        *"--agent-arg n=2 --agent-arg x=0.5 --agent-arg ok=true --agent-arg path=a=b".split()
    )
    assert config.agent_args == {"n": 2, "x": 0.5, "ok": True, "path": "a=b"}


def test_list_items_are_separated_by_commas():
    config = read("--task-ids", "a, b,", "--agent-price", "0.15,0.6")
    assert config.task_ids == ("a", "b")
    assert config.agent_price == (0.15, 0.6)
    assert read("--sandbox-packages", "numpy,pandas").sandbox_packages == ("numpy", "pandas")
    assert read(environment={"COLBENCH_SANDBOX_PACKAGES": "numpy"}).sandbox_packages == ("numpy",)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--trials", "0"], "--trials: expected a whole number >= 1, got 0"),
        (["--limit", "many"], "--limit: expected a whole number, got many"),
        (["--limit", "1e3"], "--limit: expected a whole number, such as 1000, got 1e3"),
        (["--seed", "1.0"], "--seed: expected a whole number, such as 1, got 1.0"),
        (["--seed", "1.5"], "--seed: expected a whole number, got 1.5"),
        (["--dialogue-timeout", "0"], "--dialogue-timeout: expected a number > 0.0, got 0"),
        (["--agent-arg", "volume"], "--agent-arg: `volume` is not NAME=VALUE"),
        (["--agent-price", "1"], r"--agent-price: expected two values \(IN,OUT\), got 1$"),
        (["--agent-price", "1,x"], r"--agent-price: expected a number \(IN,OUT\), got x$"),
        (["--shard", "5/4"], "--shard: expected I/N with I from 1 to N, got 5/4"),
        (["--shard", "0/4"], r"--shard: expected a whole number >= 1 \(I/N\), got 0"),
        (["--shard", "3"], r"--shard: expected two values \(I/N\), got 3$"),
        (["--task-ids", " , "], "--task-ids: the list is empty"),
        (["--tasks", "bad\udcff.jsonl"], r"--tasks: not valid Unicode: bad\\udcff.jsonl"),
        (
            ["--sandbox-workers", "99999999999"],
            "--sandbox-workers: expected a whole number <= 1024",
        ),
        (["--config", "no-such.toml"], "--config no-such.toml cannot be read"),
        (["--agent", ""], "^--agent: the value is empty; set a value, or leave it out$"),
        (["--agent-arg", "rate=nan"], "^--agent-arg: rate: expected a finite number, got nan$"),
    ],
)
def test_a_bad_flag_is_named_with_its_value(argv, message):
    with pytest.raises(UserError, match=message):
        read(*argv)


@pytest.mark.parametrize("name", ["AGENT", "TASKS", "TASK_IDS", "AGENT_ARGS", "IN_PROCESS"])
def test_an_empty_environment_variable_is_refused(name):
    with pytest.raises(UserError, match=f"^COLBENCH_{name}: the value is empty; set a value"):
        read(environment={f"COLBENCH_{name}": ""})


def test_an_empty_value_in_a_file_is_refused(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text("tasks = ''\n")
    with pytest.raises(UserError, match="run.toml, key `tasks`: the value is empty"):
        read("--config", str(file))


def test_a_bad_environment_variable_is_named():
    with pytest.raises(UserError, match="COLBENCH_TRIALS: expected a whole number, got x"):
        read(environment={"COLBENCH_TRIALS": "x"})
    with pytest.raises(UserError, match="COLBENCH_AGENT_ARGS: No closing quotation in `a='1`"):
        read(environment={"COLBENCH_AGENT_ARGS": "a='1"})


def test_arguments_in_a_variable_are_separated_by_spaces():
    config = read(environment={"COLBENCH_AGENT_ARGS": "a=1 b='two words'"})
    assert config.agent_args == {"a": 1, "b": "two words"}


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("COLBENCH_AGNET", "COLBENCH_AGENT"),
        ("COLBENCH_AGENT_ARG", "COLBENCH_AGENT_ARGS"),
        ("COLBENCH_MAX_TURN", "COLBENCH_MAX_TURNS"),
        ("COLBENCH_TRAILS", "COLBENCH_TRIALS"),
        ("COLBENCH_OFFICAL_DIR", "COLBENCH_OFFICIAL_DIR"),
        ("COLBENCH_CACH", "COLBENCH_CACHE"),
    ],
)
def test_a_misspelled_environment_variable_is_refused_with_the_right_spelling(name, right):
    message = rf"^{name}: unknown environment variable; did you mean {right}\?$"
    with pytest.raises(UserError, match=message):
        read(environment={name: "x"})
    parser = argparse.ArgumentParser()
    add_config_flags(parser, only=["seed"])
    with pytest.raises(UserError, match=message):
        read_config(parser.parse_args([]), {name: "x"}, RunConfig())


def test_environment_variables_that_are_not_settings_are_ignored():
    names = [*OTHER_VARIABLES, "COLBENCH_TEST", "COLBENCH_TEST_SECRET", "COLBENCH_FRAMEWORKS"]
    names += ["COLBENCH_HARNESSES", "COLBENCH_E2E_SEED", "COLBENCH_SQL_DATABASE", "COLBENCHMARK"]
    assert read(environment=dict.fromkeys(names, "x")) == RunConfig()


def test_variables_override_an_earlier_run_only_where_the_command_has_a_flag():
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


def test_a_bad_toml_file_is_reported_with_its_path_and_key(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text("trails = 2\n")
    with pytest.raises(UserError, match=r"run.toml: unknown key `trails`; did you mean `trials`\?"):
        read("--config", str(file))
    file.write_text("xyz = 2\n")
    with pytest.raises(
        UserError, match="run.toml: unknown key `xyz`; known keys are agent, agent_args"
    ):
        read("--config", str(file))
    file.write_text("trials = 'x'\n")
    with pytest.raises(UserError, match="run.toml, key `trials`: expected a whole number"):
        read("--config", str(file))
    file.write_text("trials = 1e3\n")
    with pytest.raises(UserError, match="key `trials`: expected a whole number, such as 1000"):
        read("--config", str(file))
    file.write_text("agent_args = 3\n")
    with pytest.raises(UserError, match="key `agent_args`: expected a table, got 3"):
        read("--config", str(file))
    file.write_text("trials = \n")
    with pytest.raises(UserError, match="run.toml is not TOML"):
        read("--config", str(file))


def test_a_bad_json_file_is_named(tmp_path):
    file = tmp_path / "run.json"
    for content, message in (("{", "run.json is not JSON"), ("[]", "run.json is not an object")):
        file.write_text(content)
        with pytest.raises(UserError, match=message):
            read("--config", str(file))
    file.write_text(json.dumps({"trials": 0}))
    with pytest.raises(UserError, match="run.json, key `trials`: expected a whole number >= 1"):
        read("--config", str(file))


def test_the_default_of_a_flag_never_overrides_the_file(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text("max_turns = 3\nhuman = 'openai:m@http://h/v1'\n")
    config = read("--config", str(file), "--seed", "1")
    assert (config.max_turns, config.human, config.seed) == (3, "openai:m@http://h/v1", 1)


def test_validate_replaces_a_file_only_on_request(tmp_path, capsys):
    kept = tmp_path / "kept.jsonl"
    kept.write_text("mine\n")
    assert main(["tasks", "validate", "--limit", "1", "--exclude", str(kept)]) == 2
    assert f"--exclude {kept}: already exists; --overwrite replaces it" in capsys.readouterr().err
    assert kept.read_text() == "mine\n"


def test_doctor_refuses_an_attack_together_with_a_server(capsys):
    assert main(["doctor", "--attack", "--serve-faults", "0"]) == 2
    assert "--serve-faults: cannot be combined with --attack" in capsys.readouterr().err


def test_doctor_refuses_json_together_with_a_server(capsys):
    assert main(["doctor", "--json", "--serve-faults", "0"]) == 2
    assert "--json: cannot be combined with --serve-faults" in capsys.readouterr().err
