"""Lines of a file that are read on access, so that the file need not fit in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def places(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield each complete line's offset and text. The text has no newline. A missing file has no lines."""
    if not path.exists():
        return
    start = 0
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield start, line[:-1]
            start += len(line)


def line_at(path: Path, start: int) -> bytes:
    """Return the line that starts at an offset, including the newline."""
    with path.open("rb") as file:
        file.seek(start)
        return file.readline()
