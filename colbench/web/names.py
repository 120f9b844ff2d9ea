"""Names in a chart. They are shortened, and placed next to their dots so that they cover nothing."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from colbench.command import printable
from colbench.web.plot import LINE_HEIGHT, Plot

LONGEST = 24
"""Maximum number of characters of a name next to a dot."""
LETTER = 7.0
"""Approximate width of a letter."""
RISE = 5
"""Height of a name above its dot, so that no line crosses the name."""
GAP = 8
"""Distance between a dot and its name."""


class Name(Struct, frozen=True, kw_only=True):
    """A name in a chart, with its position."""

    text: str
    x: float
    y: float
    before: bool
    """True if the name ends at `x`, to the left of its dot."""
    reference: bool

    @property
    def width(self) -> float:
        """Approximate width of the name."""
        return len(self.text) * LETTER

    @property
    def left(self) -> float:
        """Left edge of the name."""
        return self.x - self.width if self.before else self.x


def shorten(name: str, longest: int = LONGEST) -> str:
    """Return a name of at most `longest` characters."""
    name = printable(name)
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def place_names(plot: Plot, dots: Sequence[tuple[str, float, float, bool]]) -> list[Name]:
    """Place the names of dots, given as (name, x, y, reference); leave out a name that would cover something."""
    marks = [(x, y) for _, x, y, _ in dots]
    placed: list[Name] = []
    for name, x, y, reference in dots:
        sides = (False, True) if reference else (True, False)
        others = [mark for mark in marks if mark != (x, y)]
        tries = (_name(shorten(name), x, y, before, reference) for before in sides)
        free = (each for each in tries if _is_free(plot, each, placed, others))
        if found := next(free, None):
            placed.append(found)
    return placed


def _name(text: str, x: float, y: float, before: bool, reference: bool) -> Name:
    start = x - GAP if before else x + GAP
    return Name(text=text, x=start, y=y - RISE, before=before, reference=reference)


def _is_free(
    plot: Plot, name: Name, placed: Sequence[Name], marks: Sequence[tuple[float, float]]
) -> bool:
    left, right = name.left, name.left + name.width
    if left < plot.left or right > plot.size.width:
        return False
    on_names = any(
        abs(name.y - other.y) < LINE_HEIGHT
        and left < other.left + other.width
        and other.left < right
        for other in placed
    )
    on_marks = any(
        left - 5 < x < right + 5 and abs(name.y - 4 - y) < LINE_HEIGHT / 2 + 3 for x, y in marks
    )
    return not on_names and not on_marks
