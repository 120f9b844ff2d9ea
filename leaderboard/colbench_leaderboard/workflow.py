"""The files with which a leaderboard's repository begins: its workflow on GitHub, and bytes that git leaves alone."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from colbench.version import __version__

WORKFLOW = ".github/workflows/verify-entries.yml"
ATTRIBUTES = ".gitattributes"
AS_THEY_ARE = "* -text -filter -diff\n"
"""No line end is changed and no filter is run: a bundle's digest is over its bytes."""


def repository_files() -> dict[str, str]:
    """The contents by path in the repository."""
    template = files("colbench_leaderboard").joinpath("templates", "verify-entries.yml")
    workflow = template.read_text("utf-8").replace("@VERSION@", __version__)
    return {WORKFLOW: workflow, ATTRIBUTES: AS_THEY_ARE}


def write_repository_files(folder: Path) -> list[str]:
    """Write those that are not there yet, and return their paths."""
    written = []
    for name, content in repository_files().items():
        path = folder / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, "utf-8")
            written.append(name)
    return written
