"""Making an empty store, ready to be a git repository with a workflow that verifies pull requests on GitHub."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from colbench.errors import UserError
from colbench.version import __version__
from colbench_leaderboard.store.layout import ENTRIES, LOG

README = """\
# A ColBench leaderboard

`log.jsonl` holds every decision, each line with the hash of the line before. `entries/` holds what the log names:
each bundle as it was sent in, and what was found of it. Nothing here is edited by hand.

    colbench leaderboard audit .            every hash, and nothing that the log does not name
    colbench leaderboard audit . --verify   every number, from the transcripts
    colbench leaderboard build . --out site
"""
WORKFLOW = ".github/workflows/verify-entries.yml"
ATTRIBUTES = ".gitattributes"
AS_THEY_ARE = "* -text -filter -diff\n"
"""Git changes no line ending and runs no filter, because a bundle's digest is over its bytes."""


def make_store(store: Path) -> None:
    """Make an empty store in a new or empty folder. Raises UserError if the folder is not empty."""
    if store.exists() and (not store.is_dir() or any(p.name != ".git" for p in store.iterdir())):
        raise UserError(f"{store}: is not empty; name a new folder")
    (store / ENTRIES).mkdir(parents=True)
    (store / ENTRIES / ".gitkeep").touch()
    (store / "README.md").write_text(README, "utf-8")
    write_repository_files(store)
    (store / LOG).touch()


def repository_files() -> dict[str, str]:
    """Return the contents of the repository's own files by path."""
    template = files("colbench_leaderboard.store").joinpath("verify-entries.yml")
    workflow = template.read_text("utf-8").replace("@VERSION@", __version__)
    return {WORKFLOW: workflow, ATTRIBUTES: AS_THEY_ARE}


def write_repository_files(folder: Path) -> list[str]:
    """Write those of the repository's own files that are missing, and return their paths."""
    written = []
    for name, content in repository_files().items():
        path = folder / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, "utf-8")
            written.append(name)
    return written
