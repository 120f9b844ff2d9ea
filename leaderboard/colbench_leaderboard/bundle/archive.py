"""Bundles as `.tar.gz` archives: written reproducibly, and unpacked as a stream without trusting the content.

Unpacking accepts archives from `write` and from other tools that follow the same rules. An archive must be exactly one
gzip stream. It may contain only plain files and folders, with short names: no links, devices, sparse files or extended
headers. Its unpacked size is limited.
"""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from colbench.errors import DataError
from colbench_leaderboard.bundle.files import FOLDERS, MOST_BYTES, add_name, require_size
from colbench_leaderboard.bundle.refused import Refused

ARCHIVE = ".tar.gz"
BLOCK = 512
CHUNK = 1 << 16
MOST_RATIO = 100
"""Maximum ratio of unpacked bytes to packed bytes, both counted so far; checked after `FREE` unpacked bytes."""
FREE = 16 << 20
"""Number of unpacked bytes up to which the ratio is not checked."""
KINDS = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a device",
    b"4": "a device",
    b"6": "a named pipe",
}


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive into an empty folder.

    Raises Refused (`archive.…`) if the archive breaks a rule, and DataError if the archive cannot be opened.
    """
    for name in FOLDERS:
        (folder / name).mkdir()
    names: set[str] = set()
    try:
        packed = archive.open("rb")
    except OSError as cause:
        raise DataError(f"{archive}: cannot be read: {cause.strerror}") from cause
    with packed:
        stream = Expanded(packed, most=MOST_BYTES, ratio=MOST_RATIO)
        for member in _members(stream):
            if member.folder and member.name.rstrip("/") in FOLDERS:
                continue
            add_name(member.name, names)
            require_size(member.name, member.size)
            with (folder / member.name).open("xb") as file:
                file.writelines(_content(stream, member.size))


def write(path: Path, files: Iterable[tuple[str, Path]], level: int = 9) -> None:
    """Write files to an archive, without their times and owners.

    `files`: for each file, its name in the archive and its path. `level`: the compression level, 1 to 9. With the same
    zlib, the same names, contents and `level` give the same bytes.
    """
    with (
        path.open("wb") as raw,
        gzip.GzipFile("", "wb", level, raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name, file in files:
            member = tarfile.TarInfo(name)
            member.size, member.mode = file.stat().st_size, 0o644
            with file.open("rb") as body:
                archive.addfile(member, body)


class Header(NamedTuple):
    """The tar header of a member."""

    name: str
    size: int
    folder: bool


class Expanded:
    """A reader of the decompressed content of a gzip stream.

    `read` raises Refused: `archive.size` if the content has more than `most` bytes; `archive.ratio` if the content so
    far has more than `FREE` bytes and more than `ratio` times the packed bytes read so far; `archive.damaged` if the
    input is not exactly one whole gzip stream.
    """

    def __init__(self, packed: BinaryIO, *, most: int, ratio: int) -> None:
        self._packed = packed
        self._gzip = zlib.decompressobj(wbits=31)
        self._most, self._ratio = most, ratio
        self._taken = self._made = 0

    def read(self, size: int) -> bytes:
        """Return the next `size` bytes; fewer only at the end."""
        parts = []
        while size > 0 and (part := self._some(min(size, CHUNK))):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _some(self, size: int) -> bytes:
        while not self._gzip.eof:
            fresh = self._gzip.unconsumed_tail
            if not fresh:
                fresh = self._packed.read(CHUNK)
                self._taken += len(fresh)
            if not fresh:
                raise Refused("archive.damaged", "the archive is cut off")
            try:
                part = self._gzip.decompress(fresh, size)
            except zlib.error as cause:
                raise Refused(
                    "archive.damaged", f"damaged, or not a gzip archive: {cause}"
                ) from cause
            self._watch(len(part))
            if part:
                return part
        if self._gzip.unused_data or self._packed.read(1):
            raise Refused("archive.damaged", "there is data after the end of the archive")
        return b""

    def _watch(self, fresh: int) -> None:
        self._made += fresh
        if self._made > self._most:
            raise Refused("archive.size", f"more than {self._most} bytes when expanded")
        if self._made > FREE and self._made > self._ratio * self._taken:
            message = f"the part read so far expands to more than {self._ratio} times its size"
            raise Refused("archive.ratio", message)


def _members(stream: Expanded) -> Iterator[Header]:
    """Yield the members in order; the caller must read a member's content with `_content` before the next member.

    Raises Refused: `archive.kind`, `archive.link`, `archive.damaged`, and the rules of `Expanded`.
    """
    while True:
        block = stream.read(BLOCK)
        if len(block) < BLOCK:
            raise Refused("archive.damaged", "the archive is cut off: its end marker is missing")
        if not any(block):
            break
        yield _header(block)
    while rest := stream.read(CHUNK):
        if any(rest):
            raise Refused("archive.damaged", "there is data after the end of the archive")


def _content(stream: Expanded, size: int) -> Iterator[bytes]:
    """Yield the content of the current member in parts."""
    left = size
    while left:
        part = stream.read(min(left, CHUNK))
        if not part:
            raise Refused("archive.damaged", "the archive is cut off")
        left -= len(part)
        yield part
    stream.read(-size % BLOCK)


def _header(block: bytes) -> Header:
    name = _text(block[:100])
    prefix = _text(block[345:500]) if block[257:263] == b"ustar\0" else ""
    name = f"{prefix}/{name}" if prefix else name
    total = sum(block[:148]) + 8 * 32 + sum(block[156:])
    if _octal(block[148:156], name) != total:
        raise Refused("archive.damaged", "its header has a wrong checksum", file=name)
    kind = block[156:157]
    if kind not in (b"0", b"\0", b"5"):
        what = KINDS.get(kind, "neither a plain file nor a folder")
        rule = "archive.link" if kind in (b"1", b"2") else "archive.kind"
        hint = (
            "" if kind in KINDS else "; `colbench submit pack --out X.tar.gz` makes a valid archive"
        )
        raise Refused(rule, f"it is {what}{hint}", file=name)
    size = _octal(block[124:136], name)
    if kind == b"5" and size:
        raise Refused("archive.damaged", "it is a folder, but has content", file=name)
    return Header(name, size, kind == b"5")


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "backslashreplace")


def _octal(field: bytes, name: str) -> int:
    digits = field.strip(b" \0")
    if not digits or any(digit not in b"01234567" for digit in digits):
        raise Refused("archive.damaged", "its header has an invalid number", file=name)
    return int(digits, 8)
