"""The files of a bundle on disk: which there may be, how large, and how they come out of an archive."""

from __future__ import annotations

import os
import re
import stat
from io import BufferedReader
from pathlib import Path

from colbench.errors import DataError
from colbench_leaderboard import tarball
from colbench_leaderboard.bundle import BLOBS, LOCK, MANIFEST, SUBMISSION, TRAJECTORIES
from colbench_leaderboard.refused import Refused

KIB, MIB = 1 << 10, 1 << 20
MOST_FILES = 100_000
MOST_BYTES = 2048 * MIB
"""Of all files together."""
MOST_RATIO = 100
"""Times that a `.tar.gz` may grow, once it is beyond `tarball.FREE` bytes."""
SIZES = {
    SUBMISSION: 64 * KIB,
    LOCK: MIB,
    MANIFEST: 16 * MIB,
    TRAJECTORIES: 1024 * MIB,
    BLOBS: 8 * MIB,
}
"""The most bytes of a file, by its name or its folder."""
FOLDERS = (TRAJECTORIES, BLOBS)
NAMES = re.compile(
    "|".join(map(re.escape, (SUBMISSION, LOCK, MANIFEST)))
    + rf"|{TRAJECTORIES}/[0-9]{{3}}\.jsonl|{BLOBS}/[0-9a-f]{{64}}",
    re.ASCII,
)
EXPECTED = f"{SUBMISSION}, {LOCK}, {MANIFEST}, {TRAJECTORIES}/NNN.jsonl and {BLOBS}/SHA256"


def trajectory_file(number: int) -> str:
    """The name of the file of trajectories with that number, from 0."""
    return f"{TRAJECTORIES}/{number:03d}.jsonl"


def plain_files(folder: Path) -> set[str]:
    """The names of the files of a folder that is a bundle.

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
                    _take(name, names)
    if total > MOST_BYTES:
        raise Refused("archive.size", f"{total} bytes, the most is {MOST_BYTES}")
    for name in (SUBMISSION, LOCK, MANIFEST, trajectory_file(0)):
        if name not in names:
            raise Refused("archive.missing", "the bundle lacks it", file=name)
    return names


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a `.tar.gz` into an empty folder, as a stream.

    Raises Refused: `archive.…`; DataError where the archive cannot be read.
    """
    for name in FOLDERS:
        (folder / name).mkdir()
    names: set[str] = set()
    try:
        packed = archive.open("rb")
    except OSError as cause:
        raise DataError(f"{archive}: cannot be read: {cause.strerror}") from cause
    with packed:
        stream = tarball.Expanded(packed, most=MOST_BYTES, ratio=MOST_RATIO)
        for member in tarball.members(stream):
            if member.folder and member.name.rstrip("/") in FOLDERS:
                continue
            _take(member.name, names)
            _require_size(member.name, member.size)
            with (folder / member.name).open("xb") as file:
                file.writelines(tarball.content(stream, member.size))


def opened(folder: Path, name: str) -> BufferedReader:
    """A file of a bundle, for reading; a link is not followed. Raises Refused: `archive.link`."""
    try:
        return os.fdopen(os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW), "rb")
    except OSError as cause:
        raise Refused("archive.link", f"cannot be read: {cause.strerror}", file=name) from cause


def read(folder: Path, name: str) -> bytes:
    """The content of a file of a bundle, of at most its allowed size; see `opened`."""
    with opened(folder, name) as file:
        content = file.read(_most(name) + 1)
    _require_size(name, len(content))
    return content


def _take(name: str, before: set[str]) -> None:
    if not NAMES.fullmatch(name):
        raise Refused("archive.name", f"a bundle has no such file; it has {EXPECTED}", file=name)
    if name in before:
        raise Refused("archive.name", "it is there twice", file=name)
    if len(before) >= MOST_FILES:
        raise Refused("archive.files", f"more than {MOST_FILES} files")
    before.add(name)


def _require_plain(name: str, found: os.stat_result) -> int:
    if stat.S_ISLNK(found.st_mode):
        raise Refused("archive.link", "it is a symbolic link", file=name)
    if not stat.S_ISREG(found.st_mode) and NAMES.fullmatch(name):
        raise Refused("archive.kind", "it is no plain file", file=name)
    if NAMES.fullmatch(name):
        _require_size(name, found.st_size)
    return found.st_size


def _require_size(name: str, size: int) -> None:
    if size > (most := _most(name)):
        raise Refused("archive.size", f"{size} bytes, the most is {most}", file=name)


def _most(name: str) -> int:
    return SIZES[name.partition("/")[0]]
