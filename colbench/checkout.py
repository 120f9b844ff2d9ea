"""The Git checkout that the harness runs from."""

from __future__ import annotations

import subprocess
from pathlib import Path


def find_commit() -> str:
    """Return the commit of the harness, with `-dirty` if tracked files were changed.

    Return "" if the harness does not run from a checkout, or if Git is not installed or fails.
    """
    root = Path(__file__).resolve().parents[1]
    if not (root / ".git").exists():
        return ""
    try:
        described = subprocess.run(  # noqa: S603 - fixed arguments
            ["git", "-C", root, "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"],  # noqa: S607
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:  # git is not installed
        return ""
    return described.stdout.strip()
