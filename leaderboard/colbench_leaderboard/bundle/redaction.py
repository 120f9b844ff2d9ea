"""Removing private data (file paths, URLs, commands) from the published parts of a run, and finding secrets in them.

In the configuration, a command or URL is reduced to its kind, and a file path to the file's name. An argument is
published only if its name is in `HARMLESS`, or if it is a number or boolean whose name does not suggest a secret. As
the last safeguard, `find_secret` searches everything that would be published.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from colbench.config import RunConfig, digest
from colbench.redaction import public_spec, scrub
from colbench.rollout import Rollout, encode_rollout
from colbench.run_folder import RunRecord

KEPT_BACK = (
    "agent_endpoint",
    "agent_env",
    "agent_write",
    "baseline",
    "browser",
    "ceiling",
    "clip_weights",
    "executor",
    "human_price",
)
"""Fields whose values are not published; a bundle has the default values of these fields instead."""
LEFT_OUT = ("scorers",)
"""Fields that are omitted because they only select scores, and bundles contain no scores."""
FILES = ("agent_prompt", "human_prompt")
"""Fields that name a file; only the hash of the file is published."""
ROLES = ("agent", "human")
COMMAND = "command"
"""The key of a command line, which is removed from the published descriptions of the agent and other parts of a run."""
SECRETIVE = re.compile(r"key|token|secret|passw|credential|auth(?!ors?(?![a-z]))", re.IGNORECASE)
"""Names of arguments and environment variables that suggest a secret; AUTHOR, as in GIT_AUTHOR_EMAIL, does not."""
HARMLESS = {"max_tokens", "max_completion_tokens"}
"""Names of arguments that are always published, although they contain `token`."""
START = r"(?:\b|(?<=\\[nrt]))"
"""The start of a word, or the end of an escape such as `\\n` in source code."""
SHAPES = {
    "an API key": START + r"sk-[A-Za-z0-9_-]{20,}",
    "a Hugging Face token": START + r"hf_[A-Za-z0-9]{30,}",
    "a GitHub token": START + r"(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,})",
    "an AWS key": START + r"AKIA[0-9A-Z]{16}\b",
    "a Google API key": START + r"AIza[0-9A-Za-z_-]{35}",
    "a Slack token": START + r"xox[abprs]-[0-9A-Za-z-]{10,}",
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
}
SECRETS = {what: re.compile(shape, re.ASCII) for what, shape in SHAPES.items()}
SHORTEST = 12
"""Minimum length of an environment variable's value that counts as a secret; a shorter value may be a common word."""


class PublicRecord(Struct, frozen=True, kw_only=True):
    """The part of a run's record that is published."""

    config: dict[str, Any]
    pins: dict[str, Any]
    digest: str
    sandbox: str
    environment: str
    left_out: tuple[str, ...]
    """Names of fields that are not published, or are published only in part."""


def public_record(record: RunRecord) -> PublicRecord:
    """Return the public part of a run's record; configuration and pins are redacted."""
    left_out: list[str] = []
    config = _config(record.config, left_out)
    models = {_model(getattr(record.config, role)): _model(getattr(config, role)) for role in ROLES}
    pins: dict[str, Any] = {
        part: _redacted(value, part, models, left_out) for part, value in record.pins.items()
    }
    hashes = {name: record.pins["config"].get(name) for name in FILES}
    pins["config"] = msgspec.to_builtins(config.pins()) | hashes
    published = {**msgspec.to_builtins(config), **hashes}
    return PublicRecord(
        config={name: value for name, value in published.items() if name not in LEFT_OUT},
        pins=pins,
        digest=digest(pins),
        sandbox=scrub(record.sandbox),
        environment=scrub(" ".join(record.environments.values())),
        left_out=tuple(left_out),
    )


def find_secret(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Return the kind of secret that a text seems to contain, but not the secret itself; "" if none is found.

    `environment`: environment variables (default: the variables of this process). The value of a variable counts as
    a secret if the variable's name suggests it, and if the value has at least `SHORTEST` characters.
    """
    for what, shape in SECRETS.items():
        if shape.search(text):
            return what
    environment = os.environ if environment is None else environment
    for name, value in environment.items():
        if SECRETIVE.search(name) and len(value) >= SHORTEST and value in text:
            return f"the value of the environment variable {name}"
    return ""


def names_home(rollout: Rollout, home: Path | None = None) -> bool:
    """Return True if a dialogue contains the path of the user's home folder, which the user may not want to publish.

    `home`: the home folder (default: the current user's). A folder directly below `/`, such as `/root`, does not count.
    """
    folder = str(home or Path.home()).encode()
    return folder.count(b"/") > 1 and folder in encode_rollout(rollout)


def _config(config: RunConfig, left_out: list[str]) -> RunConfig:
    usual = RunConfig()
    changes: dict[str, Any] = {name: getattr(usual, name) for name in KEPT_BACK}
    changes |= dict.fromkeys(FILES)
    hidden = (*KEPT_BACK, *LEFT_OUT)
    left_out += [name for name in hidden if getattr(config, name) != getattr(usual, name)]
    for name in ("agent", "human", "tasks"):
        changes[name] = public_spec(given := getattr(config, name))
        if changes[name] != given:
            left_out.append(f"{name} (sent as {changes[name]})")
    for name in ("agent_args", "human_args"):
        args = getattr(config, name)
        changes[name] = {key: value for key, value in args.items() if _harmless(key, value)}
        left_out += [f"{name}.{key}" for key in args if key not in changes[name]]
    return replace(config, **changes)


def _redacted(value: Any, part: str, models: Mapping[str, str], left_out: list[str]) -> Any:
    """Return a value of the pins, such as the agent's description of itself, without private data.

    `part`: the name of the pin. `models`: the published form of each model that a spec names. If a command is removed,
    `PART.command` is added to `left_out`.
    """
    if isinstance(value, str):
        return scrub(models.get(value, value))
    if not isinstance(value, dict):
        return value
    if COMMAND in value:
        left_out.append(f"{part}.{COMMAND}")
    return {
        scrub(str(key)): _redacted(each, part, models, left_out)
        for key, each in value.items()
        if key != COMMAND
    }


def _model(spec: str) -> str:
    return spec.partition(":")[2]


def _harmless(name: str, value: Any) -> bool:
    if name in HARMLESS:
        return True
    return not isinstance(value, str) and not SECRETIVE.search(name)
