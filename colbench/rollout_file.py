"""Reading of rollout files that are too large for memory, one rollout at a time.

If several lines have the same key, the last one counts. A file is therefore read from its end, and lines with a key
that was already seen are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, overload

from colbench.errors import DataError
from colbench.rollout import Rollout, decode_line

BLOCK = 1 << 22
"""Number of bytes to read at a time."""


def latest_rollouts(path: Path) -> Iterator[tuple[int, Rollout]]:
    """Yield, for each key, the byte offset and the rollout of the key's last line, from the end of the file backward.

    A missing file yields nothing, and an incomplete last line is left out. Raises DataError if the file cannot be read,
    or if a line is malformed; the message then names the line.
    """
    seen: set[str] = set()
    for start, content in _lines_from_end(path):
        rollout = decode_line(path, content, lambda at=start: _line_number(path, at))  # type: ignore[misc]
        if rollout.key not in seen:
            seen.add(rollout.key)
            yield start, rollout


class RolloutReader(AbstractContextManager["RolloutReader"]):
    """A reader of single rollouts of a file, by their byte offsets."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None

    def __exit__(self, *error: object) -> None:
        if self._file:
            self._file.close()

    def at(self, start: int) -> Rollout:
        """Return the rollout whose line begins at an offset. Raises DataError if the line is malformed."""
        return decode_line(self._path, self.line(start), lambda: _line_number(self._path, start))

    def line(self, start: int) -> bytes:
        """Return the line that begins at an offset, newline included."""
        self._file = self._file or self._path.open("rb")
        self._file.seek(start)
        return self._file.readline()


class StoredRollouts(Sequence[Rollout]):
    """Rollouts in a file, located by byte offset and read on access."""

    def __init__(self, path: Path, places: Sequence[int]) -> None:
        self._path = path
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Rollout: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Rollout]: ...

    def __getitem__(self, index: int | slice) -> Rollout | Sequence[Rollout]:
        if isinstance(index, slice):
            return StoredRollouts(self._path, self._places[index])
        with RolloutReader(self._path) as reader:
            return reader.at(self._places[index])

    def __iter__(self) -> Iterator[Rollout]:
        with RolloutReader(self._path) as reader:
            for place in self._places:
                yield reader.at(place)


def _lines_from_end(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the offset and the content of each complete line without its newline, the last line first."""
    if not path.exists():
        return
    try:
        with path.open("rb") as file:
            place, rest = file.seek(0, 2), b""
            while place > 0:
                size = min(BLOCK, place)
                place -= size
                file.seek(place)
                content = file.read(size) + rest
                *lines, torn = content.split(b"\n")
                end = place + len(content) - len(torn)
                rest = lines.pop(0) + b"\n" if place > 0 and lines else b""
                for line in reversed(lines):
                    end -= len(line) + 1
                    yield end, line
    except OSError as cause:
        raise DataError(f"{path}: cannot be read: {cause.strerror}") from cause


def _line_number(path: Path, start: int) -> int:
    """Return the number of the line that begins at an offset, counted from 1."""
    lines = 1
    with path.open("rb") as file:
        while start > 0 and (block := file.read(min(BLOCK, start))):
            lines += block.count(b"\n")
            start -= len(block)
    return lines
