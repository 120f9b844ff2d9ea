"""The texts of a dialogue: long ones are in blobs, short ones are not, and together they are not too many."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from colbench_leaderboard.bundle import BLOBS, LONG, Blob, Trajectory, Words
from colbench_leaderboard.files import MIB, read
from colbench_leaderboard.refused import Refused

MOST_FILLED = 64 * MIB
"""Bytes of one dialogue with its blobs."""
MOST_SAID = 8192 * MIB
"""Bytes of all dialogues with their blobs: one blob may be named often."""


class BlobReader:
    """Fills in the blobs of a bundle's dialogues, one after the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._said = 0
        self._latest: tuple[str, str] = ("", "")
        self.named: set[str] = set()
        """The blobs that were named so far."""

    def check(self, trajectory: Trajectory, file: str, line: int) -> None:
        """Raise Refused, at this place: `words.long`, `words.short`, `words.size`, `blob.missing`."""

        def refused(rule: str, message: str) -> Refused:
            return Refused(rule, message, file=file, line=line)

        total = 0
        for words in all_words(trajectory):
            size = len(words.encode()) if isinstance(words, str) else self._size(words)
            if size < 0:
                raise refused("blob.missing", f"the bundle has not the blob {words!r}")
            if isinstance(words, str) and size > LONG:
                raise refused(
                    "words.long", f"a text of {size} bytes; one of more than {LONG} is a blob"
                )
            if isinstance(words, Blob) and size <= LONG:
                raise refused(
                    "words.short", f"a blob of {size} bytes; one of up to {LONG} stands here"
                )
            total += size
        self._said += total
        if total > MOST_FILLED:
            raise refused("words.size", f"a dialogue of {total} bytes, the most is {MOST_FILLED}")
        if self._said > MOST_SAID:
            raise refused("words.size", f"all dialogues: more than {MOST_SAID} bytes")

    def text(self, blob: Blob) -> str:
        """The text of a blob. Raises Refused: `blob.text`."""
        if self._latest[0] != blob.blob:
            name = f"{BLOBS}/{blob.blob}"
            try:
                self._latest = (blob.blob, read(self._folder, name).decode("utf-8"))
            except UnicodeDecodeError as cause:
                raise Refused("blob.text", f"not UTF-8: {cause.reason}", file=name) from cause
        return self._latest[1]

    def _size(self, blob: Blob) -> int:
        self.named.add(blob.blob)
        try:
            return (self._folder / BLOBS / blob.blob).lstat().st_size
        except OSError:
            return -1


def all_words(trajectory: Trajectory) -> Iterator[Words]:
    """Every text of a dialogue."""
    yield trajectory.request
    for turn in trajectory.turns:
        yield turn.raw
        yield turn.said
        if turn.human is not None:
            yield turn.human
    if trajectory.answer is not None:
        yield trajectory.answer
