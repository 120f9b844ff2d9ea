"""`colbench eval` in a process of its own, as a user would call it: the trainer's way to dialogues with scores."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import msgspec

from colbench.config import RunConfig, settings
from sweet_rl_trainer.subprocesses import run

CONFIG = ".config.json"
"""End of the name of the file with a run's configuration, next to the run's folder."""


def evaluate(
    config: RunConfig, out: Path, log: IO[bytes] | None = None, *, progress: bool = False
) -> int:
    """Make or resume the run in the folder `out`. Return the exit code: 1 if a dialogue has no score.

    The configuration is written to a file next to the folder. Environment variables that stand for fields of it are
    not passed on. The command's output goes to `log`, if given, and so do its progress and errors unless `progress`
    keeps them on the standard error.
    """
    file = out.with_name(out.name + CONFIG)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(config), indent=2))
    module = [sys.executable, "-m", "sweet_rl_trainer.subprocesses", "colbench.cli", "eval"]
    return run(
        [*module, f"--config={file}", f"--out={out}"],
        stdout=log,
        stderr=None if log is None or progress else subprocess.STDOUT,
        env=_environment(),
    )


def _environment() -> dict[str, str]:
    fields = {setting.variable for setting in settings().values()}
    return {name: value for name, value in os.environ.items() if name not in fields}
