"""Entries as commits on branches of a leaderboard's repository: making a commit, and checking a pull request.

A commit is built directly from git objects, so that no hook, filter or line-end setting can change a byte of the
bundle, and no working tree is touched. File names in a pull request are untrusted: they must match a fixed pattern, and
no shell ever sees them.
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
from colbench_leaderboard.bundle.encoding import sha256
from colbench_leaderboard.bundle.files import NAMES, SIZES
from colbench_leaderboard.bundle.read import Bundle
from colbench_leaderboard.bundle.refused import Refused
from colbench_leaderboard.bundle.schema import MANIFEST
from colbench_leaderboard.store.git import FIRST_COMMIT, Git, half_at, is_url, shown_url
from colbench_leaderboard.store.layout import BUNDLE, ENTRIES, LOG

PLAIN = "100644"
"""Git's mode for a plain file."""
COMMIT = re.compile(r"[0-9a-f]{40}")
ENTRY = re.compile(rf"{ENTRIES}/([0-9a-f]{{64}})/{BUNDLE}/(.+)", re.ASCII)


class Branch(NamedTuple):
    """A git branch that adds one entry to a leaderboard's repository."""

    repository: Path
    name: str
    commit: str
    folder: str
    """Folder of the bundle in the repository."""


@contextmanager
def open_repository(to: str) -> Iterator[Path]:
    """Yield the folder of the repository that `--to` names: a local working tree, or a temporary bare clone of a URL.

    Raises UserError if `to` is neither a working tree nor a URL, if the URL cannot be cloned, or if the repository's
    current commit contains no store.
    """
    if Path(to).is_dir():
        folder = _work_tree(Path(to))
        _require_store(folder, to)
        yield folder
    elif is_url(to):
        with tempfile.TemporaryDirectory(prefix="colbench-push-") as scratch:
            clone = Path(scratch) / "repository.git"
            flags = ("--quiet", "--bare", "--depth=1", "--no-tags", *half_at(to, "upload-pack"))
            Git(Path(scratch))("clone", *flags, "--", to, str(clone))
            _require_store(clone, to)
            yield clone
    else:
        raise UserError(
            f"--to {shown_url(to)}: neither a folder nor a URL of an accepted kind "
            "(https://…, ssh://…, file://… or user@host:path)"
        )


def commit_entry(bundle: Bundle, where: Path) -> Branch:
    """Create a branch from the repository's current commit, and commit a bundle there.

    Raises UserError if the branch or the entry already exists, if the repository has no commit, or if git fails.
    """
    git = Git(where)
    name, folder = _branch_name(bundle), f"{ENTRIES}/{bundle.digest}/{BUNDLE}"
    base = _head(git, str(where))
    if git("ls-tree", "--name-only", base, "--", folder).strip():
        raise UserError(f"{where}: the entry {folder} already exists")
    if git.attempt(("rev-parse", "--verify", "--quiet", f"refs/heads/{name}")).returncode == 0:
        raise UserError(
            f"{where}: the branch {name} already exists; delete it with `git branch -D {name}` "
            "to start over"
        )
    tree = _tree(git, bundle, base, folder)
    message = f"Entry: {bundle.submission.name}\n\nBundle {bundle.digest}\n"
    commit = git("commit-tree", tree, "-p", base, "-F", "-", stdin=message.encode()).strip()
    git("branch", "--", name, commit)
    return Branch(where, name, commit, folder)


def push(branch: Branch, to: str) -> None:
    """Push a branch to a URL. Raises UserError if the branch already exists there, or if git fails."""
    ref = f"refs/heads/{branch.name}"
    git = Git(branch.repository)
    if git("ls-remote", *half_at(to, "upload-pack"), "--", to, ref).strip():
        raise UserError(
            f"--to {shown_url(to)}: the branch {branch.name} already exists, so this bundle was "
            f"sent before; open a pull request from this branch, or delete the branch (git push "
            f"{shown_url(to)} --delete {branch.name})"
        )
    git("push", "--quiet", *half_at(to, "receive-pack"), "--", to, f"{ref}:{ref}")


def new_entries(repository: Path, base: str, head: str = "HEAD") -> list[str]:
    """Return the digests of the entries that a branch adds.

    These are the entries in commit `head`, but not in commit `base`. Raises Refused with one of the rules `change.…` if
    `head` does anything other than add bundles made of plain files. Raises UserError if `base` or `head` is not a full
    commit hash (`head` may also be `HEAD`), or if `head` does not contain `base`: an entry of `head` could then be an
    undetected copy of an entry that is only in `base`.
    """
    for flag, commit in (("--added-since", base), ("--until", head)):
        if not COMMIT.fullmatch(commit) and (flag, commit) != ("--until", "HEAD"):
            raise UserError(
                f"{flag} {commit}: expected the full hash of a commit, 40 hexadecimal digits"
            )
    git = Git(repository)
    if git.attempt(("merge-base", "--is-ancestor", base, head)).returncode == 1:
        raise UserError(
            f"--added-since {base}: the branch does not contain this commit; merge the leaderboard's main branch into "
            "the branch first"
        )
    digests = set()
    for status, mode, path in _changes(git, base, head):
        found = ENTRY.fullmatch(path)
        if not (found and NAMES.fullmatch(found[2])):
            message = f"an entry adds files of {ENTRIES}/DIGEST/{BUNDLE}/ and changes nothing else"
            raise Refused("change.path", message, file=path)
        if status != "A":
            raise Refused("change.kind", "changed or deleted, but entries never change", file=path)
        if mode != PLAIN:
            raise Refused(
                "change.mode",
                f"its git mode is {mode}, but must be {PLAIN} (a regular file that is not executable)",
                file=path,
            )
        digests.add(found[1])
    if not digests:
        raise Refused("change.none", "the branch adds no entry")
    for digest in digests:
        _require_digest(git, head, digest)
    return sorted(digests)


def _branch_name(bundle: Bundle) -> str:
    """Return `submission/NAME-DIGEST`; both parts consist of lower-case ASCII letters, digits and hyphens."""
    name = re.sub(r"[^a-z0-9]+", "-", bundle.submission.name.lower()).strip("-")[:40]
    return f"submission/{name or 'entry'}-{bundle.digest[:12]}"


def _work_tree(folder: Path) -> Path:
    found = Git(folder).attempt(("rev-parse", "--show-toplevel"))
    top = Path(os.fsdecode(found.stdout.rstrip(b"\n"))) if found.returncode == 0 else None
    if top is None:
        reason = found.stderr.decode("utf-8", "replace").strip()
        if "not a git repository" in reason:
            reason = (
                f"not a git repository; for a new leaderboard, run in this folder: {FIRST_COMMIT}"
            )
        raise UserError(f"--to {folder}: {reason}")
    if top != folder.resolve():
        raise UserError(f"--to {folder}: a subfolder of a git working tree; use {top}")
    return folder


def _require_store(folder: Path, to: str) -> None:
    """Raise UserError unless the current commit of a repository contains a leaderboard's store."""
    git = Git(folder)
    head = _head(git, f"--to {shown_url(to)}")
    if not git("ls-tree", "--name-only", head, "--", LOG).strip():
        raise UserError(
            f"--to {shown_url(to)}: not a leaderboard: the repository's current commit has no {LOG}, which "
            "`colbench leaderboard init` creates; use the leaderboard's repository"
        )


def _head(git: Git, name: str) -> str:
    """Return the current commit.

    Raises UserError, whose message begins with `name`, if the repository has no commit.
    """
    found = git.attempt(("rev-parse", "--verify", "--quiet", "HEAD^{commit}"))
    if found.returncode:
        raise UserError(
            f"{name}: the repository has no commit yet; for a new leaderboard, run in its folder: {FIRST_COMMIT}"
        )
    return found.stdout.decode().strip()


def _tree(git: Git, bundle: Bundle, base: str, folder: str) -> str:
    """Write a git tree that adds the bundle to the tree of commit `base`, and return the hash of the new tree."""
    names = sorted(bundle.files)
    paths = "".join(f"{(bundle.folder / name).resolve()}\n" for name in names)
    if paths.count("\n") != len(names):
        raise UserError(
            f"{bundle.folder}: its path contains a line break, which git does not accept"
        )
    hashes = git("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=os.fsencode(paths))
    lines = "".join(
        f"{PLAIN} {each}\t{folder}/{name}\n"
        for each, name in zip(hashes.split(), names, strict=True)
    )
    with tempfile.TemporaryDirectory(prefix="colbench-index-") as scratch:
        index = {"GIT_INDEX_FILE": str(Path(scratch) / "index")}
        git("read-tree", base, environment=index)
        git("update-index", "--add", "--index-info", stdin=lines.encode(), environment=index)
        return git("write-tree", environment=index).strip()


def _changes(git: Git, base: str, head: str) -> Iterator[tuple[str, str, str]]:
    """Yield the status, the new file mode and the path of each file that differs between two commits."""
    raw = git("diff-tree", "-r", "-z", "--no-renames", "--no-ext-diff", base, head)
    fields = raw.split("\0")
    for about, path in zip(fields[0:-1:2], fields[1::2], strict=True):
        _, mode, _, _, status = about.split(" ")
        yield status, mode, path


def _require_digest(git: Git, head: str, digest: str) -> None:
    """Raise Refused unless the name of an entry's folder is the digest of its bundle."""
    path = f"{ENTRIES}/{digest}/{BUNDLE}/{MANIFEST}"
    name = f"{head}:{path}"
    size = git.attempt(("cat-file", "-s", name))
    if size.returncode or int(size.stdout) > SIZES[MANIFEST]:
        flaw = "missing" if size.returncode else f"more than {SIZES[MANIFEST]} bytes"
        raise Refused("change.digest", flaw, file=path)
    if sha256(git.attempt(("cat-file", "blob", name)).stdout) != digest:
        raise Refused(
            "change.digest", "its SHA-256 is not the name of the entry's folder", file=path
        )
