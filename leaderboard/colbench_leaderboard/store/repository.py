"""Creating an empty store, ready to be a git repository whose GitHub workflows verify entries and audit the store."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from colbench.errors import UserError
from colbench.version import __version__
from colbench_leaderboard.store.layout import ENTRIES, LOCK, LOG, SIGNERS
from colbench_leaderboard.store.signing import Keepers

README = """\
# A ColBench leaderboard

`log.jsonl` contains every decision, each line with the hash of the previous line. `entries/` contains the files that
the log names: each bundle as submitted, with its verification. Do not edit these files by hand.

    colbench leaderboard audit .            check every hash, and that the log names every file
    colbench leaderboard audit . --verify   recompute every number from the transcripts
    colbench leaderboard head .             print the log's head (the hash of its last line), to publish it elsewhere
    colbench leaderboard build . --out site
"""
WORKFLOWS = ".github/workflows"
WORKFLOW = f"{WORKFLOWS}/verify-entries.yml"
AUDIT_WORKFLOW = f"{WORKFLOWS}/audit-store.yml"
PINNED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9][A-Za-z0-9.+!]*", re.ASCII)
"""The form of a package's name and version that is safe to pass to the workflow's shell."""
ATTRIBUTES = ".gitattributes"
AS_THEY_ARE = "* -text -filter -diff\n"
"""Settings that keep git from changing line endings and running filters, since a bundle's digest covers every byte."""
IGNORED = ".gitignore"


def make_store(store: Path, packages: Sequence[str] = (), signers: Path | None = None) -> None:
    """Create an empty store in a new or empty folder; the folder may contain `.git`.

    `packages`: packages that the store's workflows install in addition to ColBench. `signers`: a file with the keepers'
    public keys (see `signing`), which is copied into the store. Raises UserError if the folder has other content, a
    package is not written as `NAME==VERSION`, or the keys cannot be read.
    """
    keys = Keepers(signers).content if signers else b""
    for package in packages:
        if not PINNED.fullmatch(package):
            raise UserError(
                f"--packages {package}: expected a name and a version, such as colbench-sql==1.0.0"
            )
    if store.exists() and (not store.is_dir() or any(p.name != ".git" for p in store.iterdir())):
        raise UserError(f"{store}: not an empty folder; use a new folder")
    (store / ENTRIES).mkdir(parents=True)
    (store / ENTRIES / ".gitkeep").touch()
    (store / "README.md").write_text(README, "utf-8")
    write_repository_files(store, packages)
    if signers:
        (store / SIGNERS).write_bytes(keys)
    (store / LOG).touch()


def repository_files(packages: Sequence[str] = ()) -> dict[str, str]:
    """Return the contents of the store's workflows and git settings by path. For `packages`, see `make_store`."""
    workflows = {path: _workflow(path, packages) for path in (WORKFLOW, AUDIT_WORKFLOW)}
    return {**workflows, ATTRIBUTES: AS_THEY_ARE, IGNORED: f"/{LOCK}\n"}


def _workflow(path: str, packages: Sequence[str]) -> str:
    template = files("colbench_leaderboard.store").joinpath(Path(path).name)
    content = template.read_text("utf-8").replace("@VERSION@", __version__)
    return content.replace("@PACKAGES@", " ".join(packages))


def write_repository_files(folder: Path, packages: Sequence[str] = ()) -> list[str]:
    """Write the `repository_files` that are missing in a folder, and return their paths.

    `packages`: see `make_store`.
    """
    written = []
    for name, content in repository_files(packages).items():
        path = folder / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, "utf-8")
            written.append(name)
    return written
