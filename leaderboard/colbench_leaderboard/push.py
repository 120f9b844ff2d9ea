"""An entry as a commit on a branch of a leaderboard's repository; nobody's working tree is touched.

The commit is made of git's own objects, so that no hook, filter or line-end setting can change a byte of the bundle.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from colbench.errors import UserError
from colbench_leaderboard.archive import Bundle
from colbench_leaderboard.git import Git, is_url, shown_url
from colbench_leaderboard.store import BUNDLE, ENTRIES

PLAIN = "100644"


class Opened(NamedTuple):
    """An entry that is on a branch and not yet anywhere else."""

    repository: Path
    branch: str
    commit: str
    folder: str
    """Of the bundle, in the repository."""


def branch_of(bundle: Bundle) -> str:
    """`submission/NAME-DIGEST`, in plain letters."""
    name = re.sub(r"[^a-z0-9]+", "-", bundle.submission.name.lower()).strip("-")[:40]
    return f"submission/{name or 'entry'}-{bundle.digest[:12]}"


@contextmanager
def repository(to: str) -> Iterator[Path]:
    """The repository that `--to` means: a working tree here, or a clone of an address for as long as this lasts.

    Raises UserError when it is neither.
    """
    if Path(to).is_dir():
        yield _work_tree(Path(to))
    elif is_url(to):
        with tempfile.TemporaryDirectory(prefix="colbench-push-") as scratch:
            clone = Path(scratch) / "repository.git"
            Git(Path(scratch))(
                "clone", "--quiet", "--bare", "--depth=1", "--no-tags", "--", to, str(clone)
            )
            yield clone
    else:
        raise UserError(
            f"--to {shown_url(to)}: neither a folder nor an address that git takes "
            "(https://…, ssh://…, file://… or user@host:path)"
        )


def open_entry(bundle: Bundle, where: Path) -> Opened:
    """Put a bundle on a new branch of a repository. Raises UserError where it is there already, or git fails."""
    git = Git(where)
    branch, folder = branch_of(bundle), f"{ENTRIES}/{bundle.digest}/{BUNDLE}"
    base = _head(git)
    if git("ls-tree", "--name-only", base, "--", folder).strip():
        raise UserError(f"{where}: the entry is there already, {folder}")
    if git.tried(("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")).returncode == 0:
        raise UserError(
            f"{where}: there is a branch {branch} already; delete it with `git branch -D {branch}` to begin anew"
        )
    tree = _tree(git, bundle, base, folder)
    message = f"Entry: {bundle.submission.name}\n\nBundle {bundle.digest}\n"
    commit = git("commit-tree", tree, "-p", base, "-F", "-", sent=message.encode()).strip()
    git("branch", "--", branch, commit)
    return Opened(where, branch, commit, folder)


def send(opened: Opened, to: str) -> None:
    """Push the branch to an address. Raises UserError with what git says where that fails."""
    ref = f"refs/heads/{opened.branch}"
    git = Git(opened.repository)
    if git("ls-remote", "--", to, ref).strip():
        raise UserError(
            f"--to {shown_url(to)}: there is a branch {opened.branch} already, so this bundle was sent before; open "
            f"a pull request from it, or delete it there (git push {shown_url(to)} --delete {opened.branch})"
        )
    git("push", "--quiet", "--", to, f"{ref}:{ref}")


def _work_tree(folder: Path) -> Path:
    found = Git(folder).tried(("rev-parse", "--show-toplevel"))
    top = Path(os.fsdecode(found.stdout.rstrip(b"\n"))) if found.returncode == 0 else None
    if top is None or top != folder.resolve():
        raise UserError(f"--to {folder}: no working tree of a git repository; name its top folder")
    return folder


def _head(git: Git) -> str:
    found = git.tried(("rev-parse", "--verify", "--quiet", "HEAD^{commit}"))
    if found.returncode:
        raise UserError(
            f"{git.repository}: it has no commit yet; begin a leaderboard with `colbench leaderboard init`"
        )
    return found.stdout.decode().strip()


def _tree(git: Git, bundle: Bundle, base: str, folder: str) -> str:
    """The tree of the commit `base` with the bundle in it."""
    names = sorted(bundle.files)
    paths = "".join(f"{(bundle.folder / name).resolve()}\n" for name in names)
    if paths.count("\n") != len(names):
        raise UserError(f"{bundle.folder}: its path has a line break, which git cannot be told")
    hashes = git("hash-object", "-w", "--no-filters", "--stdin-paths", sent=os.fsencode(paths))
    lines = [
        f"{PLAIN} {each}\t{folder}/{name}\n"
        for each, name in zip(hashes.split(), names, strict=True)
    ]
    with tempfile.TemporaryDirectory(prefix="colbench-index-") as scratch:
        index = {"GIT_INDEX_FILE": str(Path(scratch) / "index")}
        git("read-tree", base, environment=index)
        git(
            "update-index", "--add", "--index-info", sent="".join(lines).encode(), environment=index
        )
        return git("write-tree", environment=index).strip()
