"""The declarations of the fields of a run's configuration: pins, and the page generated from them."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from msgspec.structs import replace

from colbench.config import RunConfig, digest, settings, without_address
from colbench.config_values import config_of
from colbench.errors import UserError

DOCS = Path(__file__).parents[2] / "docs"
PINNED = {
    "agent",
    "agent_args",
    "agent_prompt",
    "agent_sandbox",
    "agent_endpoint",
    "human",
    "human_args",
    "human_prompt",
    "tasks",
    "max_turns",
    "seed",
    "dialogue_timeout",
    "record_tokens",
    "sandbox_packages",
    "allow_unsafe_sandbox",
}
SELECTION = {"domain", "limit", "shard", "task_ids", "trials"}
OTHER = {
    "domain": "backend",
    "agent": "openai:model@http://localhost:1/v1",
    "agent_args": {"temperature": 0.5, "seed": False},
    "agent_prompt": "prompt.txt",
    "in_process": True,
    "agent_write": ("logs",),
    "agent_sandbox": True,
    "agent_endpoint": "h:1",
    "agent_env": ("A",),
    "tasks": "t.jsonl",
    "human": "http://a/b",
    "human_args": {"max_chars": 400},
    "human_prompt": "prompt.txt",
    "told": "all",
    "scorers": ("brevity",),
    "scoring": "official",
    "record_tokens": True,
    "max_turns": 3,
    "trials": 4,
    "seed": 5,
    "limit": 6,
    "shard": (2, 3),
    "task_ids": ("a",),
    "concurrency": 7,
    "processes": "auto",
    "executor": "ray",
    "dialogue_timeout": 8.5,
    "endpoint_patience": 9.5,
    "sandbox_workers": 2,
    "sandbox_tier": "T1",
    "sandbox_packages": ("numpy",),
    "allow_unsafe_sandbox": True,
    "browser": "b",
    "browser_workers": 3,
    "clip_weights": "w",
    "clip_device": "cpu",
    "allow_other_clip": True,
    "baseline": "r",
    "ceiling": "c",
    "agent_price": (1.0, 2.5),
    "human_price": (0.0, 3.0),
}
"""A value other than the default for every field."""
EXECUTION_ARGS = {
    "concurrency": 1,
    "timeout": 3,
    "retries": 1,
    "port": 1,
    "startup_timeout": 3,
    "log": "x",
    "api_key_env": "K",
}


@pytest.fixture(autouse=True)
def _prompt(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("prompt.txt").write_text("hello")


def test_pins_and_selection_have_the_expected_fields():
    assert RunConfig().pins().keys() == PINNED
    assert RunConfig().selection().keys() == SELECTION


def test_only_pinned_fields_change_the_pins():
    assert OTHER.keys() == settings().keys()
    before = digest(RunConfig().pins())
    for name, value in OTHER.items():
        after = digest(replace(RunConfig(), **{name: value}).pins())
        assert (after != before) == (name in {*PINNED, "told"}), name


def test_the_digests_of_the_pins_match_those_of_earlier_versions():
    everything = RunConfig(**{**OTHER, "told": "asked"})
    assert digest(RunConfig().pins()) == (
        "bdc912e8671f0867ad3eaec75339dc24c14e68b8064cd80dff550a58ffe08617"
    )
    assert digest(everything.pins()) == (
        "93f54ead6302e8053310b0fe46ccab633419845edaacd950fab326441874cf38"
    )


def test_the_url_of_a_server_is_not_pinned_but_a_command_is_pinned_as_a_whole():
    assert without_address("openai:m@http://a:1,http://b:2") == "openai:m"
    command = "cmd:./agent --proxy user@http://proxy --model A"
    assert RunConfig(agent=command).pins()["agent"] == command


@pytest.mark.parametrize("role", ["agent_args", "human_args"])
def test_arguments_that_affect_only_execution_are_not_pinned(role):
    config = RunConfig(**{role: {"temperature": 1, **EXECUTION_ARGS}})
    assert config.pins() == RunConfig(**{role: {"temperature": 1}}).pins()


def test_the_configuration_page_is_up_to_date():
    made = runpy.run_path(str(DOCS / "make_configuration.py"))["page"]()
    committed = (DOCS / "configuration.md").read_text("utf-8")
    assert committed == made, "run `python docs/make_configuration.py`"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"trails": 3}, r"^trails: unknown setting; did you mean `trials`\?$"),
        ({"limit": 1e3}, "^limit: expected a whole number, such as 1000, got 1000.0$"),
        ({"trials": 0}, "^trials: expected a whole number >= 1, got 0$"),
        ({"agent_args": {"a": []}}, r"^agent_args\[...\]: expected true or false, a number or a"),
    ],
)
def test_an_invalid_setting_in_python_is_named(values, message):
    with pytest.raises(UserError, match=message):
        config_of(values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"endpoint_patience": "inf"}, "endpoint_patience: expected a finite number, got inf"),
        ({"dialogue_timeout": float("inf")}, "dialogue_timeout: expected a finite number"),
        ({"agent_price": (1.0, float("inf"))}, "agent_price: expected a finite number"),
        (
            {"agent_args": {"temperature": float("nan")}},
            "agent_args: temperature: expected a finite number",
        ),
    ],
)
def test_an_infinite_number_or_nan_is_refused(values, message):
    with pytest.raises(UserError, match=message):
        config_of(values)
