"""An answer next to the reference, line by line, with the differing words marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest

from msgspec import Struct

MOST_LINES = 2_000
"""Maximum number of lines of either text. The time for a comparison grows with the product of both numbers of lines."""
LONGEST_LINE = 400
"""Maximum length of a line, in characters, up to which differing words are marked."""
ALIKE = 0.4
"""Minimum similarity, from 0 to 1, of two lines in which differing words are marked."""
WORDS = re.compile(r"\w+|\s+|.")


class Part(Struct, frozen=True):
    """A piece of a line."""

    text: str
    changed: bool = False
    """True if the other text differs in this place."""


class Line(Struct, frozen=True):
    """A line with its number, from 1."""

    number: int
    parts: Sequence[Part]


class Hunk(Struct, frozen=True):
    """Consecutive lines that are equal in both texts, or lines of one text that replace lines of the other."""

    same: bool
    reference: Sequence[Line]
    answer: Sequence[Line]


def compare_lines(reference: str, answer: str) -> list[Hunk] | None:
    """Return all lines of both texts as hunks, in order; None if a text is too long to be compared."""
    old, new = reference.splitlines(), answer.splitlines()
    if max(len(old), len(new)) > MOST_LINES:
        return None
    return list(_hunks(old, new))


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[Hunk]:
    for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        pairs = [_parts(a, b) for a, b in zip_longest(old[i:j], new[k:m])]
        yield Hunk(
            same=kind == "equal",
            reference=[Line(i + n, pairs[n - 1][0]) for n in range(1, j - i + 1)],
            answer=[Line(k + n, pairs[n - 1][1]) for n in range(1, m - k + 1)],
        )


def _parts(old: str | None, new: str | None) -> tuple[Sequence[Part], Sequence[Part]]:
    """Return the pieces of two lines; differing pieces are marked if the lines are similar."""
    whole = [Part(old or "")], [Part(new or "")]
    if not old or not new or old == new or max(len(old), len(new)) > LONGEST_LINE:
        return whole
    before, after = WORDS.findall(old), WORDS.findall(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < ALIKE:
        return whole
    found = matcher.get_opcodes()
    return (
        [Part("".join(before[i:j]), kind != "equal") for kind, i, j, _, _ in found if i < j],
        [Part("".join(after[k:m]), kind != "equal") for kind, _, _, k, m in found if k < m],
    )
