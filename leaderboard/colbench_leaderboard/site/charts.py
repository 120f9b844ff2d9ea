"""Charts as inline SVG: a scatter with its Pareto front, and curves by turn. A table stands behind each."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log10

from msgspec import Struct

from colbench.report.markup import Safe, element
from colbench_leaderboard.site.text import plain

WIDTH, HEIGHT = 480, 320
LEFT, RIGHT, TOP, BOTTOM = 44, 24, 14, 40
NAMES = 24
"""Characters of a name in a chart."""
LINE = 14
"""Height of a line of words."""
ABOVE = 5
"""How far over its dot a name stands, so that no line goes through it."""
LETTER = 7.0
"""Width of a letter, about."""
ROOM = 152
"""Beside curves, for their names."""
LAST = 20
"""Characters of these."""


Words = tuple[float, float, float]
"""Where words start, the height of their base, and how wide they are."""


class Dot(Struct, frozen=True, kw_only=True):
    """An entry in a chart."""

    name: str
    address: str
    x: float
    """What was spent; less is better."""
    y: float
    """A share; more is better."""
    line: bool = False
    """A line to compare with: it is not part of the front."""


class Curve(Struct, frozen=True, kw_only=True):
    """An entry's shares by turn."""

    name: str
    shares: Sequence[float]
    line: bool = False
    best: bool = False


def front(dots: Sequence[Dot]) -> list[Dot]:
    """The entries that none beats at the same or a lower expense, the cheapest first."""
    found: list[Dot] = []
    for dot in sorted((d for d in dots if not d.line), key=lambda d: (d.x, -d.y)):
        if not found or dot.y > found[-1].y:
            found.append(dot)
    return found


def scatter(title: str, unit: str, dots: Sequence[Dot]) -> Safe:
    """Quality over expense; the front is drawn, its entries and the lines are named."""
    best = front(dots)
    frame = _Frame(most=_ceiling(max((dot.x for dot in dots), default=1.0)))
    steps = _steps(frame, best)
    return _svg(
        title,
        *frame.shares(),
        *frame.amounts(unit),
        element("polyline", points=steps, class_="front") if best else Safe(),
        *(_dot(frame, dot, dot in best) for dot in sorted(dots, key=lambda d: d in best)),
        *_labels(frame, best, [dot for dot in dots if dot.line]),
    )


def by_turn(title: str, curves: Sequence[Curve]) -> Safe:
    """Shares by turn, a curve an entry; the best ones and the lines are named at their ends."""
    turns = max((len(curve.shares) for curve in curves), default=1)
    named = [curve for curve in curves if curve.shares and (curve.best or curve.line)]
    room = ROOM if len(curves) > 1 else RIGHT
    frame = _Frame(most=max(turns, 2), least=1, right=room)
    order = sorted(curves, key=lambda c: (c.best, c.line))
    return _svg(
        title,
        *frame.shares(),
        *frame.turns(turns),
        *(_curve(frame, curve) for curve in order),
        *(_ends(frame, named) if len(curves) > 1 else ()),
    )


class _Frame(Struct, frozen=True, kw_only=True):
    """The plotting area: x from `least` to `most`, y from 0 to 1."""

    most: float
    least: float = 0.0
    right: int = RIGHT

    def x(self, value: float) -> float:
        part = (value - self.least) / (self.most - self.least)
        return round(LEFT + part * (WIDTH - LEFT - self.right), 1)

    def y(self, share: float) -> float:
        share = min(max(share, 0.0), 1.0)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)

    def shares(self) -> list[Safe]:
        drawn = []
        for part in range(5):
            y = self.y(part / 4)
            kind = "grid" if part else "axis"
            drawn.append(element("line", x1=LEFT, x2=WIDTH - self.right, y1=y, y2=y, class_=kind))
            label = f"{part * 25} %" if part == 4 else f"{part * 25}"
            drawn.append(element("text", label, x=LEFT - 8, y=y + 4, class_="end"))
        return drawn

    def amounts(self, unit: str) -> list[Safe]:
        drawn = [
            element("text", _tick(tick), x=self.x(tick), y=HEIGHT - BOTTOM + 18, class_="middle")
            for tick in (self.most * part / 4 for part in range(5))
        ]
        return [*drawn, element("text", unit, x=WIDTH - self.right, y=HEIGHT - 4, class_="end")]

    def turns(self, turns: int) -> list[Safe]:
        drawn = [
            element("text", str(turn), x=self.x(turn), y=HEIGHT - BOTTOM + 18, class_="middle")
            for turn in range(1, turns + 1, ceil(turns / 12))
        ]
        return [*drawn, element("text", "turn", x=WIDTH - self.right, y=HEIGHT - 4, class_="end")]


def _ceiling(most: float) -> float:
    """A number not below `most` whose quarters are round."""
    if most <= 0:
        return 1.0
    size = 10.0 ** (ceil(log10(most)) - 1)
    return next(size * n for n in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 8, 12) if size * n >= most * 0.999)


def _tick(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.4g}"


def _steps(frame: _Frame, best: Sequence[Dot]) -> str:
    """The front as stairs: what can be had at an expense or less."""
    points = []
    for place, dot in enumerate(best):
        x, y = frame.x(dot.x), frame.y(dot.y)
        if place:
            points.append(f"{x},{frame.y(best[place - 1].y)}")
        points.append(f"{x},{y}")
    if best:
        points.append(f"{WIDTH - RIGHT},{frame.y(best[-1].y)}")
    return " ".join(points)


def _dot(frame: _Frame, dot: Dot, best: bool) -> Safe:
    kind = "dot line" if dot.line else "dot best" if best else "dot"
    words = f"{plain(dot.name)}: {dot.y * 100:.1f} % at {_tick(dot.x)}"
    mark = element("circle", cx=frame.x(dot.x), cy=frame.y(dot.y), r=4, class_=kind)
    return element(
        "a", element("title", words), mark, href=dot.address, aria_label=words, tabindex=-1
    )


def _labels(frame: _Frame, best: Sequence[Dot], lines: Sequence[Dot]) -> list[Safe]:
    """Names beside their dots; one that would lie on another, or on a dot that is named, is left out."""
    taken: list[Words] = []
    drawn = []
    marks = [(frame.x(dot.x), frame.y(dot.y)) for dot in (*best, *lines)]
    for dot in (*best[::-1], *lines):
        name = _short(dot.name)
        wide = len(name) * LETTER
        own = x, level = frame.x(dot.x), frame.y(dot.y)
        y = level - ABOVE
        sides = [(x + 8, ""), (x - 8 - wide, " end")]
        for left, side in sides if dot.line else sides[::-1]:
            words = (left, y, wide)
            others = [mark for mark in marks if mark != own]
            if left < LEFT or left + wide > WIDTH or _lies_on(words, taken, others):
                continue
            taken.append(words)
            at = x + 8 if not side else x - 8
            kind = f"label halo{' line' if dot.line else ''}{side}"
            drawn.append(element("text", name, x=at, y=y, class_=kind))
            break
    return drawn


def _lies_on(words: Words, taken: Sequence[Words], marks: Sequence[tuple[float, float]]) -> bool:
    left, y, wide = words
    on_words = any(
        abs(y - other) < LINE and left < start + width and start < left + wide
        for start, other, width in taken
    )
    on_marks = any(
        left - 5 < x < left + wide + 5 and abs(y - 4 - at) < LINE / 2 + 3 for x, at in marks
    )
    return on_words or on_marks


def _short(name: str) -> str:
    name = plain(name)
    return name if len(name) <= NAMES else f"{name[: NAMES - 1]}…"


def _curve(frame: _Frame, curve: Curve) -> Safe:
    points = " ".join(
        f"{frame.x(turn)},{frame.y(share)}" for turn, share in enumerate(curve.shares, start=1)
    )
    kind = "curve best" if curve.best else "curve line" if curve.line else "curve"
    return element("polyline", element("title", plain(curve.name)), points=points, class_=kind)


def _ends(frame: _Frame, curves: Sequence[Curve]) -> list[Safe]:
    """The names at the ends, moved apart."""
    drawn = []
    least = TOP * 1.0
    for curve in sorted(curves, key=lambda c: -c.shares[-1]):
        y = max(frame.y(curve.shares[-1]) + 4, least)
        least = y + LINE
        if y > HEIGHT - BOTTOM + LINE:
            break
        x = frame.x(len(curve.shares)) + 8
        kind = "label line" if curve.line else "label"
        name = _short(curve.name)
        shown = name if len(name) <= LAST else f"{name[: LAST - 1]}…"
        drawn.append(element("text", shown, x=x, y=y, class_=kind))
    return drawn


def _svg(title: str, *content: str) -> Safe:
    return element("svg", *content, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="group", aria_label=title)
