"""Charts as SVG files: panels with axes, lines, bands and labels that keep apart.

A white background and its own colours, so that a chart reads the same on any page. What a colour says is also said by a
label, dashes or a shape, and colour-blind people tell the colours apart. Text from outside is escaped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape

from msgspec import Struct

INK, FAINT, GRID, WHITE = "#1a1a1a", "#595959", "#dddddd", "#ffffff"
BLUE, ORANGE, GREEN, PURPLE = "#0072b2", "#d55e00", "#007a5a", "#a8467f"
SIZE = 12
"""Of text, in user units."""
FONT = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"

Place = tuple[float, float]
Ticks = Sequence[tuple[float, str]]


class Panel(Struct, frozen=True, kw_only=True):
    """A plotting area, in user units, and the values at its edges."""

    left: float
    top: float
    width: float
    height: float
    across: tuple[float, float]
    up: tuple[float, float]
    doubling: bool = False
    """Across, each doubling is a step of the same width."""

    def x(self, value: float) -> float:
        """Where a value is, across."""
        low, high = self.across
        if self.doubling:
            low, high, value = (math.log2(each) for each in (low, high, value))
        return round(self.left + self.width * _part(value, low, high), 2)

    def y(self, value: float) -> float:
        """Where a value is, from above."""
        return round(self.top + self.height * (1 - _part(value, *self.up)), 2)


def _part(value: float, low: float, high: float) -> float:
    return (value - low) / (high - low) if high != low else 0.5


def tag(name: str, *children: str, **attributes: object) -> str:
    """An element; `_` in the name of an attribute stands for `-`. Children are markup."""
    shown = "".join(
        f' {key.replace("_", "-")}="{escape(str(each))}"' for key, each in attributes.items()
    )
    return f"<{name}{shown}>{''.join(children)}</{name}>" if children else f"<{name}{shown}/>"


def text(content: str, x: float, y: float, **attributes: object) -> str:
    """Words; whatever they hold is shown as it is."""
    return tag("text", _words(content), x=x, y=y, **({"fill": INK} | attributes))


def _words(content: str) -> str:
    """Text as markup; XML has no control characters."""
    return escape(re.sub("[\x00-\x1f\x7f]", " ", content))


def document(title: str, width: float, height: float, parts: Iterable[str]) -> str:
    """A whole file."""
    return tag(
        "svg",
        tag("title", _words(title)),
        "\n",
        tag("rect", width=width, height=height, fill=WHITE),
        "\n",
        "\n".join(parts),
        "\n",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:g} {height:g}",
        width=f"{width:g}",
        height=f"{height:g}",
        role="img",
        font_family=FONT,
        font_size=SIZE,
    )


def frame(panel: Panel, across: Ticks, up: Ticks) -> list[str]:
    """Grid, axis and the numbers at both."""
    right, bottom = panel.left + panel.width, panel.top + panel.height
    drawn = []
    for value, label in up:
        y = panel.y(value)
        drawn.append(tag("line", x1=panel.left, x2=right, y1=y, y2=y, stroke=GRID))
        drawn.append(text(label, panel.left - 6, y + 4, text_anchor="end", fill=FAINT))
    drawn.append(tag("line", x1=panel.left, x2=right, y1=bottom, y2=bottom, stroke=FAINT))
    for value, label in across:
        x = panel.x(value)
        drawn.append(tag("line", x1=x, x2=x, y1=bottom, y2=bottom + 4, stroke=FAINT))
        drawn.append(text(label, x, bottom + 17, text_anchor="middle", fill=FAINT))
    return drawn


def line(points: Sequence[Place], colour: str, **attributes: object) -> str:
    """Through the points, in user units."""
    shown = {"fill": "none", "stroke": colour, "stroke_width": 2} | attributes
    return tag("polyline", points=_points(points), **shown)


def band(points: Sequence[tuple[float, float, float]], colour: str) -> str:
    """Between two heights at each place across, in user units."""
    edge = [(x, high) for x, _, high in points] + [(x, low) for x, low, _ in reversed(points)]
    return tag("polygon", points=_points(edge), fill=colour, fill_opacity=0.18)


def whisker(x: float, low: float, high: float, colour: str) -> str:
    """An interval, upright."""
    return tag("line", x1=x, x2=x, y1=low, y2=high, stroke=colour, stroke_width=1.5)


def dot(place: Place, colour: str, radius: float = 3.5, *, ring: bool = False) -> str:
    """A point, or a ring."""
    fill, edge = (WHITE, colour) if ring else (colour, WHITE)
    x, y = place
    return tag("circle", cx=x, cy=y, r=radius, fill=fill, stroke=edge, stroke_width=1.5)


def _points(points: Iterable[Place]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in points)


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers from `low` to `high`, at most so many of them."""
    if high <= low:
        return [low]
    exact = (high - low) / max(1, most - 1)
    size = 10.0 ** math.floor(math.log10(exact))
    step = next(size * each for each in (1, 2, 2.5, 4, 5, 10, 20) if size * each >= exact * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(n * step, 10) for n in range(first, math.floor(high / step + 1e-9) + 1)]


def ceiling(most: float) -> float:
    """A round number not below `most`, and above 0."""
    if most <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(most))
    return next(
        round(size * each, 10) for each in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if size * each >= most
    )


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places of labels: as near to what they name as a gap between any two allows, within the bounds.

    Labels that would touch are taken as one block, which lies around the mean of what they name.
    """
    order = sorted(range(len(places)), key=places.__getitem__)
    blocks: list[tuple[float, int]] = []  # the first label's place, and how many
    for n in order:
        block = (places[n], 1)
        while blocks and blocks[-1][0] + blocks[-1][1] * gap > block[0]:
            before = blocks.pop()
            size = before[1] + block[1]
            sums = before[0] * before[1] + (block[0] - before[1] * gap) * block[1]
            block = (sums / size, size)
        blocks.append(block)
    flat = [first + n * gap for first, size in blocks for n in range(size)]
    for n, each in enumerate(flat):
        flat[n] = max(each, low if n == 0 else flat[n - 1] + gap)
    for n in range(len(flat) - 1, -1, -1):
        flat[n] = min(flat[n], high if n == len(flat) - 1 else flat[n + 1] - gap)
    found = [0.0] * len(places)
    for n, y in zip(order, flat, strict=True):
        found[n] = y
    return found


def axis_name(panel: Panel, name: str) -> str:
    """Below the numbers of the axis across."""
    x, y = panel.left + panel.width / 2, panel.top + panel.height + 34
    return text(name, x, y, text_anchor="middle", fill=FAINT)


def whole(share: float) -> str:
    """A share as a tick in per cent, without its sign: `40`, `2.5`."""
    return f"{share * 100:.3g}"
