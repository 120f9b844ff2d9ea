"""From flags, environment and file to a RunConfig: a flag beats the environment, that beats the file."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from colbench.config import RunConfig
from colbench.config_errors import field_of, in_words
from colbench.errors import UserError

PAIRS = {"agent_args", "human_args"}
LISTS = {"task_ids", "sandbox_packages", "agent_env", "agent_price", "human_price"}
HELP = {
    "domain": (
        "NAME",
        "only tasks of this domain, and its own ones where none are named: backend, frontend, or an installed one",
    ),
    "agent": (
        "SPEC",
        "the agent: a name, openai:MODEL[@URL], vllm:MODEL, cmd:COMMAND, http://HOST:PORT, file.py:attr or module:attr "
        "(default: interviewer; for frontend design designer)",
    ),
    "agent_args": ("NAME=VALUE", "an argument of the agent; may be repeated"),
    "agent_prompt": ("FILE", "the agent's system prompt"),
    "agent_sandbox": (
        "",
        "shut a cmd: agent in: no network, and no file that holds tasks (docs/agent-sandbox.md)",
    ),
    "agent_endpoint": (
        "HOST:PORT",
        "what it may reach in the network all the same; a URL does as well",
    ),
    "agent_env": ("NAME,…", "environment variables that it gets in there, such as its API key"),
    "tasks": (
        "SOURCE",
        "the tasks: bundled:…, official:…, websight:…, or a file, JSON lines or Parquet (default: bundled:backend)",
    ),
    "human": (
        "SPEC",
        "the simulated human: keyless, openai:MODEL[@URL], file.py:attr or module:attr",
    ),
    "human_args": ("NAME=VALUE", "an argument of the human; may be repeated"),
    "human_prompt": ("FILE", "the human's prompt"),
    "scoring": ("MODE", "the verdicts that the report leads with: default or official"),
    "record_tokens": (
        "",
        "keep token ids and log-probabilities of every turn, for training; the server must return them, as vLLM does",
    ),
    "max_turns": ("N", "turns in a dialogue"),
    "trials": ("K", "dialogues for each task"),
    "seed": ("N", "what every random choice of the run is derived from"),
    "limit": ("N", "only the first N tasks"),
    "task_ids": ("ID,…", "only these tasks"),
    "concurrency": ("N", "dialogues at once"),
    "dialogue_timeout": ("SECONDS", "the most time of the agent for one dialogue"),
    "sandbox_workers": ("N", "answers scored at once; 0: one for each core"),
    "sandbox_packages": ("NAME,…", "installed packages that answers may import: numpy,pandas"),
    "allow_unsafe_sandbox": ("", "score even where no safe sandbox works"),
    "browser": ("PATH", "the browser that renders pages (default: the first that is found)"),
    "browser_workers": ("N", "pages rendered at once; 0: one for each core"),
    "clip_weights": (
        "PATH",
        "file or folder with the weights for the cosine (default: the paper's, downloaded at first use)",
    ),
    "clip_device": ("NAME", "where the cosine is computed: auto, cpu, cuda"),
    "allow_other_clip": ("", "take weights that are not the paper's"),
    "baseline": ("RUN", "a run, or a rollout file, that the win rate is against"),
    "agent_price": ("IN,OUT", "US dollars for a million prompt and completion tokens of the agent"),
    "human_price": ("IN,OUT", "the same for the human"),
}


CHOICES = {"scoring": "default or official"}
CONFIG_HELP = (
    "a TOML file; its keys are the flags' names, those of agent and human arguments are the tables "
    "agent_args and human_args"
)


EQUIPMENT = (
    "scoring",
    "sandbox_workers",
    "allow_unsafe_sandbox",
    "browser",
    "browser_workers",
    "clip_weights",
    "clip_device",
    "allow_other_clip",
    "baseline",
)
"""The fields that say how answers are scored and compared, and may change when a run is scored again."""


def add_config_flags(parser: argparse.ArgumentParser, only: Sequence[str] = ()) -> None:
    """Add `--config` and one flag for each field of RunConfig, or flags for some fields alone."""
    if not only:
        parser.add_argument("--config", metavar="FILE", help=CONFIG_HELP)
    defaults = RunConfig()
    for field in only or HELP:
        metavar, text = HELP[field]
        default = getattr(defaults, field)
        shown = f"{text} (default: {default})" if default not in (None, "", (), {}, False) else text
        options: dict[str, Any] = {"dest": field, "help": shown, "default": None}
        if not metavar:
            options |= {"action": "store_const", "const": True}
        elif field in PAIRS:
            options |= {"action": "append", "metavar": metavar}
        else:
            options |= {"metavar": metavar}
        parser.add_argument(flag(field), **options)


def flag(field: str) -> str:
    """The flag of a field: `agent_args` is `--agent-arg`, one a time."""
    return "--" + (field.removesuffix("s") if field in PAIRS else field).replace("_", "-")


def read_config(
    args: argparse.Namespace,
    environment: Mapping[str, str] | None = None,
    base: RunConfig | None = None,
) -> RunConfig:
    """The configuration that flags, environment (COLBENCH_AGENT …) and `--config` file give together.

    With a `base`, that of an earlier run, flags count beside it, and variables for which the command has a flag.
    Raises UserError that names the flag, variable or key with the bad value.
    """
    environment = os.environ if environment is None else environment
    merged: dict[str, Any] = msgspec.to_builtins(base) if base else {}
    origin: dict[str, str] = {}
    fields = [field for field in HELP if base is None or hasattr(args, field)]
    sources = [
        ("environment", _environment_values(environment, fields)),
        ("flag", _flag_values(args)),
    ]
    if base is None:
        sources.insert(0, (str(args.config), _file_values(args.config)))
    for source, values in sources:
        for field, value in values.items():
            merged[field] = {**merged.get(field, {}), **value} if field in PAIRS else value
            origin[field] = _named(source, field)
    return _convert(merged, origin)


def _named(source: str, field: str) -> str:
    names = {"flag": flag(field), "environment": f"COLBENCH_{field.upper()}"}
    return names.get(source, f"{source}, key `{field}`")


def _convert(values: dict[str, Any], origin: Mapping[str, str]) -> RunConfig:
    try:
        return msgspec.convert(values, RunConfig, strict=False)
    except msgspec.ValidationError as cause:
        field = field_of(cause)
        reason = f"expected {CHOICES[field]}" if field in CHOICES else in_words(str(cause))
        given = f"; given: {values[field]}" if field in values else ""
        raise UserError(f"{origin.get(field) or '--config'}: {reason}{given}") from cause


def _file_values(path: str | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        import tomllib

        values = tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as cause:
        raise UserError(f"--config: {path} cannot be read: {cause.strerror}") from cause
    except ValueError as cause:
        raise UserError(f"--config: {path} is no TOML: {cause}") from cause
    values = {key.replace("-", "_"): value for key, value in values.items()}
    for key in values:
        if key not in HELP:
            raise UserError(f"{path}: unknown key `{key}`; known are {', '.join(HELP)}")
    return values


def _environment_values(environment: Mapping[str, str], fields: Sequence[str]) -> dict[str, Any]:
    found = {field: environment.get(f"COLBENCH_{field.upper()}") for field in fields}
    return {
        field: _parsed(
            field, shlex.split(value) if field in PAIRS else value, f"COLBENCH_{field.upper()}"
        )
        for field, value in found.items()
        if value
    }


def _flag_values(args: argparse.Namespace) -> dict[str, Any]:
    given = {field: getattr(args, field, None) for field in HELP}
    return {
        field: _parsed(field, value, flag(field))
        for field, value in given.items()
        if value is not None
    }


def _parsed(field: str, value: Any, where: str) -> Any:
    if field in PAIRS:
        return pairs(value, where)
    if field not in LISTS:
        return value
    if not names(value):
        raise UserError(f"{where}: the list is empty; leave it out, or name something")
    return names(value)


def names(text: str) -> list[str]:
    """The parts between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def pairs(given: Sequence[str], where: str) -> dict[str, Any]:
    """The arguments NAME=VALUE by name. Raises UserError when one is none."""
    return dict(_pair(pair, where) for pair in given)


def _pair(pair: str, where: str) -> tuple[str, Any]:
    name, equals, value = pair.partition("=")
    if not equals or not name.strip():
        raise UserError(f"{where}: `{pair}` is not NAME=VALUE")
    return name.strip().replace("-", "_"), scalar(value)


def scalar(text: str) -> str | int | float | bool:
    """The number or truth value that a text is, else the text."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
