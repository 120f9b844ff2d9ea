"""The files of a bundle in a folder: the allowed names and sizes, safe reading, and the manifest."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Mapping
from io import BufferedReader
from pathlib import Path

from colbench.errors import DataError
from colbench_leaderboard.bundle.refused import Refused
from colbench_leaderboard.bundle.schema import BLOBS, LOCK, MANIFEST, SUBMISSION, TRAJECTORIES

KIB, MIB = 1 << 10, 1 << 20
MOST_FILES = 100_000
MOST_BYTES = 2048 * MIB
"""Maximum size of all files together."""
SIZES = {
    SUBMISSION: 64 * KIB,
    LOCK: MIB,
    MANIFEST: 16 * MIB,
    TRAJECTORIES: 1024 * MIB,
    BLOBS: 8 * MIB,
}
"""Maximum size in bytes of a file, by the file's name or by the name of its folder."""
FOLDERS = (TRAJECTORIES, BLOBS)
NAMES = re.compile(
    "|".join(map(re.escape, (SUBMISSION, LOCK, MANIFEST)))
    + rf"|{TRAJECTORIES}/[0-9]{{3}}\.jsonl|{BLOBS}/[0-9a-f]{{64}}",
    re.ASCII,
)
EXPECTED = f"{SUBMISSION}, {LOCK}, {MANIFEST}, {TRAJECTORIES}/NNN.jsonl and {BLOBS}/SHA256"
MANIFEST_LINE = re.compile(rb"([0-9a-f]{64})  ([ -~]+)")


def trajectory_file(number: int) -> str:
    """Return the name of the trajectory file with this number, counted from 0."""
    return f"{TRAJECTORIES}/{number:03d}.jsonl"


def plain_files(folder: Path) -> set[str]:
    """Return the names of the files in a bundle's folder.

    Raises Refused: `archive.name`, `archive.link`, `archive.kind`, `archive.size`, `archive.files`, `archive.missing`.
    """
    names: set[str] = set()
    total = 0
    for inner in ("", *FOLDERS):
        if inner and not (folder / inner).exists():
            continue
        with os.scandir(folder / inner) as entries:
            for entry in entries:
                found = entry.stat(follow_symlinks=False)
                if inner or entry.name not in FOLDERS or not stat.S_ISDIR(found.st_mode):
                    name = f"{inner}/{entry.name}" if inner else entry.name
                    total += _require_plain(name, found)
                    add_name(name, names)
    if total > MOST_BYTES:
        message = f"all files together have {total} bytes; at most {MOST_BYTES} are allowed"
        raise Refused("archive.size", message)
    for name in (SUBMISSION, LOCK, MANIFEST, trajectory_file(0)):
        if name not in names:
            raise Refused("archive.missing", "missing from the bundle", file=name)
    return names


def open_file(folder: Path, name: str) -> BufferedReader:
    """Open a file of a bundle.

    Raises Refused (`archive.link`) if the file is a link, and DataError if it cannot be opened.
    """
    try:
        return os.fdopen(os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW), "rb")
    except OSError as cause:
        if cause.errno == errno.ELOOP:
            raise Refused("archive.link", "it is a symbolic link", file=name) from cause
        raise DataError(f"{folder / name}: cannot be read: {cause.strerror}") from cause


def read_file(folder: Path, name: str) -> bytes:
    """Return the content of a bundle's file. Raises Refused (`archive.size`), and the errors of `open_file`."""
    with open_file(folder, name) as file:
        content = file.read(_most(name) + 1)
    require_size(name, len(content))
    return content


def add_name(name: str, before: set[str]) -> None:
    """Check a file's name, and add the name to `before`, the set of earlier names.

    Raises Refused: `archive.name`, `archive.files`.
    """
    if not NAMES.fullmatch(name):
        raise Refused(
            "archive.name", f"not allowed in a bundle, which contains only {EXPECTED}", file=name
        )
    if name in before:
        raise Refused("archive.name", "it appears twice", file=name)
    if len(before) >= MOST_FILES:
        raise Refused("archive.files", f"more than {MOST_FILES} files")
    before.add(name)


def require_size(name: str, size: int) -> None:
    """Raise Refused, `archive.size`, if a file is larger than allowed."""
    if size > (most := _most(name)):
        raise Refused("archive.size", f"{size} bytes; at most {most} are allowed", file=name)


def manifest(folder: Path, names: Iterable[str]) -> bytes:
    """Return the content of the manifest that lists these files."""
    return b"".join(f"{_file_hash(folder, name)}  {name}\n".encode() for name in sorted(names))


def parse_manifest(content: bytes) -> dict[str, str]:
    """Return the digests in a manifest by file name. Raises Refused: `manifest.malformed`, `manifest.order`."""
    digests: dict[str, str] = {}
    before = ""
    *lines, last = content.split(b"\n")
    if last:
        raise Refused("manifest.malformed", "its last line has no line break", file=MANIFEST)
    for number, line in enumerate(lines, start=1):
        found = MANIFEST_LINE.fullmatch(line)
        name = found[2].decode() if found else ""
        if found is None or not NAMES.fullmatch(name) or name == MANIFEST:
            message = "not `SHA256  PATH`, where PATH is a file of a bundle, but not the manifest"
            raise Refused("manifest.malformed", message, file=MANIFEST, line=number)
        if name <= before:
            message = f"{name} appears twice" if name == before else f"{name} must precede {before}"
            raise Refused("manifest.order", message, file=MANIFEST, line=number)
        digests[name] = found[1].decode()
        before = name
    return digests


def require_manifest(folder: Path, digests: Mapping[str, str], names: set[str]) -> None:
    """Check the files of a bundle against its manifest.

    `digests`: the digest of each file according to the manifest. `names`: the files in `folder`, except the manifest.
    Raises Refused: `manifest.missing`, `manifest.unlisted`, `manifest.digest`, `blob.digest`.
    """
    if missing := sorted(digests.keys() - names):
        raise Refused(
            "manifest.missing", "in the manifest, but missing from the bundle", file=missing[0]
        )
    if unlisted := sorted(names - digests.keys()):
        raise Refused("manifest.unlisted", "missing from the manifest", file=unlisted[0])
    for name, stated in digests.items():
        found = _file_hash(folder, name)
        if found != stated:
            message = f"its SHA-256 is {found}, but the manifest says {stated}"
            raise Refused("manifest.digest", message, file=name)
        blob = name.partition("/")[2]
        if len(blob) == len(found) and blob != found:
            raise Refused(
                "blob.digest", f"its SHA-256 is {found}, which differs from its name", file=name
            )


def _file_hash(folder: Path, name: str) -> str:
    with open_file(folder, name) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _require_plain(name: str, found: os.stat_result) -> int:
    """Check a file, and return its size. Raises Refused: `archive.link`, `archive.kind`, `archive.size`."""
    if stat.S_ISLNK(found.st_mode):
        raise Refused("archive.link", "it is a symbolic link", file=name)
    if not stat.S_ISREG(found.st_mode) and NAMES.fullmatch(name):
        raise Refused("archive.kind", "it is not a regular file", file=name)
    if NAMES.fullmatch(name):
        require_size(name, found.st_size)
    return found.st_size


def _most(name: str) -> int:
    return SIZES[name.partition("/")[0]]
