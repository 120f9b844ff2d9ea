"""The geometry of a chart: its size, its plotting area and its ticks, in SVG user units."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

from msgspec import Struct

MOST_TICKS = 12
"""Maximum number of ticks on an axis; if there are more values, some ticks are left out."""
LINE_HEIGHT = 14
Tick = tuple[float, str]
"""A coordinate and its label."""


class Size(Struct, frozen=True, kw_only=True):
    """The size of a chart and the margins around its plotting area."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int


SMALL = Size(width=360, height=224, left=44, right=4, top=14, bottom=36)
LARGE = Size(width=480, height=320, left=44, right=24, top=14, bottom=40)


class Plot(Struct, frozen=True, kw_only=True):
    """A plotting area: x runs from `first` to `last`, y from 0 to `ceiling`."""

    size: Size
    first: float
    last: float
    ceiling: float = 1.0
    room: int = 0
    """Width reserved on the right for the names of curves."""

    @property
    def left(self) -> int:
        """The left edge of the plotting area."""
        return self.size.left

    @property
    def right(self) -> int:
        """The right edge of the plotting area."""
        return self.size.width - (self.room or self.size.right)

    @property
    def top(self) -> int:
        """The upper edge of the plotting area."""
        return self.size.top

    @property
    def bottom(self) -> int:
        """The lower edge of the plotting area."""
        return self.size.height - self.size.bottom

    def x(self, value: float) -> float:
        """Return the horizontal position of a value."""
        share = (value - self.first) / (self.last - self.first)
        return round(self.left + share * (self.right - self.left), 1)

    def y(self, value: float) -> float:
        """Return the vertical position of a value, limited to the plotting area."""
        share = min(max(value / self.ceiling, 0.0), 1.0)
        return round(self.bottom - share * (self.bottom - self.top), 1)

    def points(self, values: Sequence[tuple[float, float]]) -> str:
        """Return the `points` attribute of a line through these (x, y) values."""
        return " ".join(f"{self.x(x)},{self.y(y)}" for x, y in values)


def share_ticks(plot: Plot) -> list[Tick]:
    """Return the ticks of a y axis from 0 to 100%."""
    labels = ("0", "25", "50", "75", "100%")
    return [(plot.y(part / 4), label) for part, label in enumerate(labels)]


def amount_ticks(plot: Plot) -> list[Tick]:
    """Return the ticks of an x axis of amounts. The axis must end at a value that `round_ceiling` returned."""
    step = _step(plot.last)
    amounts = (step * n for n in range(round(plot.last / step) + 1))
    return [(plot.x(amount), short_amount(amount)) for amount in amounts]


def turn_ticks(plot: Plot, turns: int) -> list[Tick]:
    """Return the ticks of an x axis of turns from 1, at most `MOST_TICKS`."""
    return [(plot.x(turn), str(turn)) for turn in range(1, turns + 1, ceil(turns / MOST_TICKS))]


def round_ceiling(most: float) -> float:
    """Return the end of an axis for values up to `most`: a multiple of the distance between ticks.

    If `most` is 0 or less, return 1.
    """
    return _step(most) * ceil(most / _step(most) - 0.001) if most > 0 else 1.0


def _step(most: float) -> float:
    """Return a round step between ticks such that at most 5 steps reach `most`; whole if `most` is at least 1."""
    size = 10.0 ** floor(log10(most / 5))
    step = next(size * n for n in (1, 2, 5, 10) if size * n * 5 >= most * 0.999)
    return max(step, 1.0) if most >= 1 else step


def short_amount(value: float) -> str:
    """Format an amount for a tick, such as `1,200` or `2.4`."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.4g}"


def spread(wanted: Sequence[float], lowest: float) -> list[float]:
    """Return y positions for labels: close to `wanted`, at least a line apart, and none below the position `lowest`.

    `wanted` and the result are ordered from the top of a chart to its bottom.
    """
    moved: list[float] = []
    for y in wanted:
        moved.append(max(y, moved[-1] + LINE_HEIGHT) if moved else y)
    limit = lowest
    for place in reversed(range(len(moved))):
        moved[place] = round(min(moved[place], limit), 1)
        limit = moved[place] - LINE_HEIGHT
    return moved
