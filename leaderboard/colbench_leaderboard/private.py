"""What of a run leaves the machine that made it: nothing that says where things lie there, and no secret.

Of the configuration commands and addresses are sent as their kind, files as their name, arguments where they are
numbers or truth values. `find_secret` is the last line of defence: it looks through all that would be sent.
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

from colbench.config import RunConfig, digest, without_address
from colbench.rollout import Rollout, encode_rollout
from colbench.run_folder import RunRecord

KEPT_BACK = (
    "agent_endpoint",
    "agent_env",
    "baseline",
    "browser",
    "clip_weights",
    "human_price",
)
"""The fields of the configuration that are not sent at all."""
FILES = ("agent_prompt", "human_prompt")
"""Those of which the hash of the file is sent."""
COMMAND = "command"
"""What an agent of the run may say of itself that is not sent."""
FILE_ENDS = (".py", ".jsonl", ".json", ".parquet", ".gz", ".txt", ".md")
SECRETIVE = re.compile(r"key|token|secret|passw|credential|auth", re.IGNORECASE)
HARMLESS = {"max_tokens", "max_completion_tokens"}
PATH = re.compile(
    r"(?<![\w.:/~])(?:~/|/|[A-Za-z]:\\)(?:[^\s/\\:;,'\"()]+[/\\])*([^\s/\\:;,'\"()]+)"
)
ADDRESS = re.compile(r"\b([a-z][a-z0-9+.-]*)://[^\s'\"<>]+", re.IGNORECASE)
SHAPES = {
    "an API key": rb"\bsk-[A-Za-z0-9_-]{20,}",
    "a Hugging Face token": rb"\bhf_[A-Za-z0-9]{30,}",
    "a GitHub token": rb"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,})",
    "an AWS key": rb"\bAKIA[0-9A-Z]{16}\b",
    "a Google API key": rb"\bAIza[0-9A-Za-z_-]{35}",
    "a Slack token": rb"\bxox[abprs]-[0-9A-Za-z-]{10,}",
    "a private key": rb"-----BEGIN [A-Z ]*PRIVATE KEY-----",
}
SECRETS = {what: re.compile(shape) for what, shape in SHAPES.items()}
SHORTEST = 12
"""Characters of an environment variable from which its value can be told from common words."""


class Public(Struct, frozen=True, kw_only=True):
    """The part of a run's record that is sent."""

    config: dict[str, Any]
    pins: dict[str, Any]
    digest: str
    sandbox: str
    browser: str
    left_out: tuple[str, ...]
    """The names of what is not sent, or only in part."""


def public(record: RunRecord) -> Public:
    """What of the record of a run is sent: its configuration as `RunConfig` reads it, with the pins of that."""
    left_out: list[str] = []
    config = _config(record.config, left_out)
    pins: dict[str, Any] = {part: _said(said, part, left_out) for part, said in record.pins.items()}
    hashes = {name: record.pins["config"].get(name) for name in FILES}
    pins["config"] = msgspec.to_builtins(config.pins()) | hashes
    return Public(
        config={**msgspec.to_builtins(config), **hashes},
        pins=pins,
        digest=digest(pins),
        sandbox=scrub(record.sandbox),
        browser=scrub(" ".join(record.environments.values())),
        left_out=tuple(left_out),
    )


def scrub(text: str) -> str:
    """The text with files by their name alone and without addresses."""
    return PATH.sub(r"\1", ADDRESS.sub(r"\1:…", text))


def public_spec(spec: str) -> str:
    """What a flag named, without where it is: `cmd` of `cmd:python /a/agent.py`, `agent.py:A` of `/a/agent.py:A`."""
    if spec.startswith("cmd:"):
        return "cmd"
    return scrub(":".join(map(_base, without_address(spec).split(":"))))


def find_secret(content: bytes, environment: Mapping[str, str] | None = None) -> str:
    """What secret a text seems to hold, in words that do not tell it; "" where none is seen."""
    for what, shape in SECRETS.items():
        if shape.search(content):
            return what
    environment = os.environ if environment is None else environment
    for name, value in environment.items():
        if SECRETIVE.search(name) and len(value) >= SHORTEST and value.encode() in content:
            return f"the value of the environment variable {name}"
    return ""


def names_home(rollout: Rollout, home: Path | None = None) -> bool:
    """Whether a text of a dialogue names the home folder of who runs this; that is for them to judge."""
    folder = str(home or Path.home()).encode()
    return folder.count(b"/") > 1 and folder in encode_rollout(rollout)


def _config(config: RunConfig, left_out: list[str]) -> RunConfig:
    usual = RunConfig()
    changes: dict[str, Any] = {name: getattr(usual, name) for name in KEPT_BACK}
    changes |= dict.fromkeys(FILES)
    left_out += [name for name in KEPT_BACK if getattr(config, name) != changes[name]]
    for name in ("agent", "human", "tasks"):
        changes[name] = public_spec(given := getattr(config, name))
        if changes[name] != given:
            left_out.append(f"{name} (sent as {changes[name]})")
    for name in ("agent_args", "human_args"):
        args = getattr(config, name)
        changes[name] = {key: value for key, value in args.items() if _harmless(key, value)}
        left_out += [f"{name}.{key}" for key in args if key not in changes[name]]
    return replace(config, **changes)


def _said(value: Any, part: str, left_out: list[str]) -> Any:
    """What the agent, the human or the browser said of itself."""
    if isinstance(value, str):
        return scrub(value)
    if not isinstance(value, dict):
        return value
    if COMMAND in value:
        left_out.append(f"{part}.{COMMAND}")
    return {
        scrub(str(key)): _said(each, part, left_out)
        for key, each in value.items()
        if key != COMMAND
    }


def _harmless(name: str, value: Any) -> bool:
    if name in HARMLESS:
        return True
    return not isinstance(value, str) and not SECRETIVE.search(name)


def _base(part: str) -> str:
    is_path = part.startswith(("/", "~", ".")) or part.endswith(FILE_ENDS)
    return part.rstrip("/").rpartition("/")[2] if is_path else part
