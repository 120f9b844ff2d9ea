"""Which entries a branch adds to a leaderboard: the names in it are strangers', and are compared and never run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from colbench.errors import UserError
from colbench_leaderboard.bundle import MANIFEST, sha256
from colbench_leaderboard.files import NAMES, SIZES
from colbench_leaderboard.git import Git
from colbench_leaderboard.push import PLAIN
from colbench_leaderboard.refused import Refused
from colbench_leaderboard.store import BUNDLE, ENTRIES

COMMIT = re.compile(r"[0-9a-f]{40}")
ENTRY = re.compile(rf"{ENTRIES}/([0-9a-f]{{64}})/{BUNDLE}/(.+)", re.ASCII)


def new_entries(repository: Path, base: str, head: str = "HEAD") -> list[str]:
    """The digests of the entries that the commit `head` adds to where it left the commit `base`.

    Raises Refused where it does anything but add plain files of bundles: `change.kind`, `change.path`, `change.mode`,
    `change.none`, `change.digest`; UserError where a commit is none.
    """
    if not (COMMIT.fullmatch(base) and (head == "HEAD" or COMMIT.fullmatch(head))):
        raise UserError("--base and --head are commits: 40 hexadecimal digits")
    digests = set()
    for status, mode, path in _changed(Git(repository), base, head):
        found = ENTRY.fullmatch(path)
        if not (found and NAMES.fullmatch(found[2])):
            said = f"an entry adds files of {ENTRIES}/DIGEST/{BUNDLE}/ and changes nothing else"
            raise Refused("change.path", said, file=path)
        if status != "A":
            raise Refused("change.kind", "it is there already; an entry never changes", file=path)
        if mode != PLAIN:
            raise Refused("change.mode", f"mode {mode}: it is no plain file", file=path)
        digests.add(found[1])
    if not digests:
        raise Refused("change.none", "there is no new entry")
    for digest in digests:
        _require_own_name(Git(repository), head, digest)
    return sorted(digests)


def _require_own_name(git: Git, head: str, digest: str) -> None:
    """Raise Refused where an entry's folder is not named by the digest of its bundle."""
    path = f"{ENTRIES}/{digest}/{BUNDLE}/{MANIFEST}"
    name = f"{head}:{path}"
    size = git.tried(("cat-file", "-s", name))
    if size.returncode or int(size.stdout) > SIZES[MANIFEST]:
        raise Refused("change.digest", "it is missing, or too large", file=path)
    if sha256(git.tried(("cat-file", "blob", name)).stdout) != digest:
        raise Refused(
            "change.digest", "its SHA-256 is not the name of the entry's folder", file=path
        )


def _changed(git: Git, base: str, head: str) -> Iterator[tuple[str, str, str]]:
    """What each change is, the new mode of its file, and the path."""
    common = git("merge-base", base, head).strip()
    raw = git("diff-tree", "-r", "-z", "--no-renames", "--no-ext-diff", common, head)
    fields = raw.split("\0")
    for about, path in zip(fields[0:-1:2], fields[1::2], strict=True):
        _, mode, _, _, status = about.split(" ")
        yield status, mode, path
