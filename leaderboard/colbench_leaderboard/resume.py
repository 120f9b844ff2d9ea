"""The command that resumes a run."""

from __future__ import annotations

import shlex
from pathlib import Path

from colbench.config import RunConfig
from colbench.flags import command_flags


def resume_command(config: RunConfig, folder: Path) -> str:
    """Return `colbench eval` with the flags of this configuration, in a form that a shell takes."""
    return shlex.join(["colbench", "eval", *command_flags(config), "--out", str(folder)])
