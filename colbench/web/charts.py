"""Charts as inline SVG for light and dark pages; `charts.css` colors them.

The functions compute positions; the macros of `templates/charts.html` write the elements. Pages also show the numbers
of a chart in a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

from markupsafe import Markup
from msgspec import Struct

from colbench.command import printable
from colbench.web.names import place_names, shorten
from colbench.web.plot import (
    LARGE,
    MOST_TICKS,
    SMALL,
    Plot,
    Size,
    amount_ticks,
    round_ceiling,
    share_ticks,
    short_amount,
    spread,
    turn_ticks,
)
from colbench.web.templating import page_templates

Emphasis = Literal["strong", "faint", "reference"]
"""`strong`: drawn in the accent color. `faint`: thin, behind the other curves. `reference`: dashed, for comparison."""
NAME_ROOM = {SMALL: 104, LARGE: 152}
"""Width of the space to the right of curves, for the curves' names, by size of the chart."""
NAME_LENGTH = 20
"""Maximum number of characters in a curve's name."""


class Curve(Struct, frozen=True, kw_only=True):
    """A line of a chart: a share at each of the turns 1, 2, ..."""

    title: str
    """Tooltip of the curve."""
    shares: Sequence[float]
    emphasis: Emphasis = "strong"
    name: str = ""
    """Name at the end of the curve; empty if it has none."""
    band: Sequence[tuple[float, float]] = ()
    """The interval of each share. If intervals are given, the points of the curve have markers."""


class Dot(Struct, frozen=True, kw_only=True):
    """An entry in a scatter chart."""

    name: str
    address: str
    x: float
    """The entry's cost; lower is better."""
    y: float
    """A share; more is better."""
    reference: bool = False
    """True for an entry that is shown for comparison and is not part of the Pareto front."""


def curve_chart(
    title: str, curves: Sequence[Curve], *, size: Size = LARGE, tips: Sequence[str] = ()
) -> Markup:
    """Draw shares by turn. `tips` has a tooltip for each turn."""
    turns = max((len(curve.shares) for curve in curves), default=1)
    named = [curve for curve in curves if curve.name and curve.shares]
    plot = Plot(size=size, first=1, last=max(turns, 2), room=NAME_ROOM[size] if named else 0)
    order = {"faint": 0, "reference": 1, "strong": 2}
    return _draw(
        "curves",
        plot,
        title,
        y_ticks=share_ticks(plot),
        x_ticks=turn_ticks(plot, turns),
        curves=[_lines(plot, each) for each in sorted(curves, key=lambda c: order[c.emphasis])],
        names=_end_names(plot, named),
        tips=_strips(plot, range(1, len(tips) + 1), tips),
    )


def bar_chart(
    title: str, labels: Sequence[str], counts: Sequence[int], unit: str, *, size: Size = SMALL
) -> Markup:
    """Draw counts as bars; `unit` is the unit of the labels below the bars."""
    ceiling = _bar_ceiling(max(counts, default=0))
    plot = Plot(size=size, first=-0.5, last=max(len(counts), 1) - 0.5, ceiling=ceiling)
    every = -(-len(labels) // MOST_TICKS)
    ticks = [(plot.x(n), label) for n, label in enumerate(labels) if n % every == 0]
    tips = [f"{label} {unit}: {n:,}" for label, n in zip(labels, counts, strict=True)]
    return _draw(
        "bars",
        plot,
        title,
        unit=unit,
        y_ticks=[(plot.y(ceiling * part), f"{ceiling * part:,.0f}") for part in (0, 0.5, 1)],
        x_ticks=ticks,
        bars=[(plot.x(n - 0.36), plot.y(count), count) for n, count in enumerate(counts)],
        width=round(plot.x(0.36) - plot.x(-0.36), 1),
        labeled=len(counts) <= MOST_TICKS,
        tips=_strips(plot, range(len(tips)), tips),
    )


def scatter_chart(title: str, unit: str, dots: Sequence[Dot], *, size: Size = LARGE) -> Markup:
    """Draw quality against cost, with the Pareto front.

    Names are drawn for the entries on the front and for the reference entries.
    """
    best = pareto_front(dots)
    plot = Plot(size=size, first=0.0, last=round_ceiling(max((dot.x for dot in dots), default=1.0)))
    named = [*best[::-1], *(dot for dot in dots if dot.reference)]
    names = place_names(
        plot, [(dot.name, plot.x(dot.x), plot.y(dot.y), dot.reference) for dot in named]
    )
    return _draw(
        "scatter",
        plot,
        title,
        unit=unit,
        y_ticks=share_ticks(plot),
        x_ticks=amount_ticks(plot),
        front=_stairs(plot, best),
        dots=[_dot(plot, dot, dot in best) for dot in sorted(dots, key=lambda d: d in best)],
        names=names,
    )


def interval_bar(
    mean: float | None,
    low: float | None,
    high: float | None,
    marks: Sequence[tuple[str, float]] = (),
) -> Markup:
    """Draw an interval on a scale from 0 to 1; draw nothing if the mean or an end of the interval is None.

    `marks`: values to compare with the interval, each as the name of its CSS class, such as `floor`, and the value.
    """
    if mean is None or low is None or high is None:
        return Markup()
    left, middle, right = (round(min(max(x, 0.0), 1.0) * 100, 1) for x in (low, mean, high))
    width = round(max(right - left, 0.6), 1)
    places = [(name, round(min(max(value, 0.0), 1.0) * 99.4, 1)) for name, value in marks]
    drawn: Markup = _macros().interval(left, width, round(middle - 0.4, 1), places)
    return drawn


def difference_bar(mean: float, low: float, high: float, reach: float) -> Markup:
    """Draw the interval of a difference on a scale from -`reach` to `reach`, with a line at 0."""
    left, middle, right = (
        round(50 + 50 * min(max(x / reach, -1.0), 1.0), 1) for x in (low, mean, high)
    )
    drawn: Markup = _macros().difference(left, round(max(right - left, 0.6), 1), middle)
    return drawn


def stacked_bar(title: str, parts: Sequence[tuple[str, int]]) -> Markup:
    """Draw counts as the segments of one bar. Each of `parts` is a CSS class, such as `succeeded`, and a count."""
    total = sum(number for _, number in parts)
    drawn, start = [], 0
    for name, number in parts:
        if number:
            drawn.append((name, round(100 * start / total, 2), round(100 * number / total, 2)))
            start += number
    bar: Markup = _macros().stack(printable(title), drawn)
    return bar


def pareto_front(dots: Sequence[Dot]) -> list[Dot]:
    """Return the Pareto front, the cheapest entry first; leave out reference entries.

    An entry is on the front if every other entry of equal or lower cost has a lower quality.
    """
    found: list[Dot] = []
    for dot in sorted((d for d in dots if not d.reference), key=lambda d: (d.x, -d.y)):
        if not found or dot.y > found[-1].y:
            found.append(dot)
    return found


def _lines(plot: Plot, curve: Curve) -> dict[str, Any]:
    points = [(turn, share) for turn, share in enumerate(curve.shares, start=1)]
    lows = [(turn, low) for turn, (low, _) in enumerate(curve.band, start=1)]
    highs = [(turn, high) for turn, (_, high) in enumerate(curve.band, start=1)]
    return {
        "title": printable(curve.title),
        "emphasis": curve.emphasis,
        "points": plot.points(points),
        "band": plot.points(highs + lows[::-1]),
        "marks": [(plot.x(x), plot.y(y)) for x, y in points] if curve.band else [],
    }


def _end_names(plot: Plot, curves: Sequence[Curve]) -> list[tuple[float, float, str, Emphasis]]:
    """Return the names at the ends of curves as (x, y, name, emphasis), moved apart so that they do not overlap."""
    ordered = sorted(curves, key=lambda curve: -curve.shares[-1])
    heights = spread([plot.y(curve.shares[-1]) + 4 for curve in ordered], plot.bottom + 4)
    return [
        (plot.x(len(curve.shares)) + 8, y, shorten(curve.name, NAME_LENGTH), curve.emphasis)
        for curve, y in zip(ordered, heights, strict=True)
        if y >= plot.top
    ]


def _strips(plot: Plot, places: range, tips: Sequence[str]) -> list[tuple[float, float, str]]:
    """Return invisible vertical strips as (x, width, text); the text is the strip's tooltip."""
    width = round(plot.x(1) - plot.x(0), 1)
    return [
        (round(plot.x(place) - width / 2, 1), width, tip)
        for place, tip in zip(places, tips, strict=True)
    ]


def _bar_ceiling(most: int) -> float:
    """Return a round number that leaves room for a label above the bars."""
    size = 4.0
    while True:
        for factor in (1, 2, 3, 5):
            if size * factor >= most * 1.05:
                return size * factor
        size *= 10


def _stairs(plot: Plot, best: Sequence[Dot]) -> str:
    """Return the points of the front, drawn as stairs: for each cost, the best share at that cost or less."""
    corners: list[tuple[float, float]] = []
    for dot in best:
        if corners:
            corners.append((dot.x, corners[-1][1]))
        corners.append((dot.x, dot.y))
    return plot.points([*corners, (plot.last, best[-1].y)]) if best else ""


def _dot(plot: Plot, dot: Dot, best: bool) -> dict[str, Any]:
    return {
        "x": plot.x(dot.x),
        "y": plot.y(dot.y),
        "address": dot.address,
        "text": f"{printable(dot.name)}: {dot.y * 100:.1f}% at {short_amount(dot.x)}",
        "emphasis": "reference" if dot.reference else "strong" if best else "faint",
    }


@cache
def _macros() -> Any:
    return page_templates("colbench.web").get_template("charts.html").module


def _draw(macro: str, plot: Plot, title: str, **parts: Any) -> Markup:
    drawn: Markup = getattr(_macros(), macro)(plot, printable(title), **parts)
    return drawn
