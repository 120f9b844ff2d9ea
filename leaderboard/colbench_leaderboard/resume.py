"""The command that goes on with a run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import msgspec

from colbench.config import RunConfig
from colbench.flags import HELP, LISTS, PAIRS, flag


def resume_command(config: RunConfig, folder: Path) -> str:
    """`colbench eval` with the flags of this configuration, in a form that a shell takes."""
    words = ["colbench", "eval"]
    usual: dict[str, Any] = msgspec.to_builtins(RunConfig())
    for field, value in msgspec.to_builtins(config).items():
        if field in HELP and value != usual[field]:
            words += _flags(field, value)
    return shlex.join([*words, "--out", str(folder)])


def _flags(field: str, value: Any) -> list[str]:
    if field in PAIRS:
        return [
            word for key, each in value.items() for word in (flag(field), f"{key}={_text(each)}")
        ]
    if field in LISTS:
        return [flag(field), ",".join(map(str, value))]
    return [flag(field)] if value is True else [flag(field), _text(value)]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
