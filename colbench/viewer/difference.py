"""An answer against the reference, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal

from msgspec import Struct

MOST_LINES = 2_000
"""Lines of either text beyond which they are not compared: the time grows with their product."""


class Line(Struct, frozen=True):
    """A line of one text, or of both."""

    side: Literal["both", "reference", "answer"]
    text: str


def compare_lines(reference: str, answer: str) -> list[Line] | None:
    """Return the lines of both texts in order, common ones once; None if a text is too long to be compared."""
    old, new = reference.splitlines(), answer.splitlines()
    if max(len(old), len(new)) > MOST_LINES:
        return None
    return list(_lines(old, new))


def _lines(old: list[str], new: list[str]) -> Iterator[Line]:
    for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from (Line("both", text) for text in old[i:j])
        else:
            yield from (Line("reference", text) for text in old[i:j])
            yield from (Line("answer", text) for text in new[k:m])
