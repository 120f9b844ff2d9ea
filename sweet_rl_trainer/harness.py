"""`colbench eval` in a process of its own, called as a user would: the trainer's way to dialogues with scores."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from colbench.config import RunConfig
from sweet_rl_trainer.tether import run

PAIRS = {"agent_args": "--agent-arg", "human_args": "--human-arg"}


def evaluate(
    config: RunConfig, out: Path, log: IO[bytes] | None = None, *, progress: bool = False
) -> int:
    """Make the run, or go on with it, in the folder `out`. Returns the exit code: 1 if a dialogue has no score.

    `config` is all that counts: variables of the environment that stand for flags of the command do not. What the
    command says goes to `log`, else where our own words go; `progress` and errors go there in any case, if asked.
    """
    module = [sys.executable, "-m", "sweet_rl_trainer.tether", "colbench.cli", "eval"]
    return run(
        [*module, *flags(config), f"--out={out}"],
        stdout=log,
        stderr=None if log is None or progress else subprocess.STDOUT,
        env=_environment(),
    )


def flags(config: RunConfig) -> list[str]:
    """A run's configuration as flags of `colbench eval`: what is not as it is by default."""
    usual = msgspec.to_builtins(RunConfig())
    return [
        flag
        for name, value in msgspec.to_builtins(config).items()
        if value != usual[name]
        for flag in _flags(name, value)
    ]


def _flags(name: str, value: Any) -> Iterator[str]:
    flag = f"--{name.replace('_', '-')}"
    if name in PAIRS:
        yield from (f"{PAIRS[name]}={key}={_text(each)}" for key, each in value.items())
    elif value is True:
        yield flag
    elif isinstance(value, list | tuple):
        yield f"{flag}={','.join(map(str, value))}"
    else:
        yield f"{flag}={value}"


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _environment() -> dict[str, str]:
    ours = {f"COLBENCH_{field.upper()}" for field in RunConfig.__struct_fields__}
    return {name: value for name, value in os.environ.items() if name not in ours}
