"""Charts as inline SVG; colours come from the page's style sheet, the numbers also stand in a table."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from colbench.numbers import percent, whole_percent
from colbench.report.markup import Safe, element
from colbench.report.model import Budget

WIDTH, HEIGHT = 360, 210
LEFT, RIGHT, TOP, BOTTOM = 38, 4, 14, 22
LABEL_ROOM = 96
"""Beside the curves, for their names."""
LABEL_GAP = 14
"""Between the names of two curves that end close together."""
MOST_LABELS = 12
"""Ticks of an axis and numbers over bars, beyond which some are left out."""

Point = tuple[float, float]


class Frame(Struct, frozen=True, kw_only=True):
    """The plotting area: x counts places from 0 to `places` - 1, y goes from 0 to `top`."""

    places: int
    top: float
    right: int = RIGHT

    def x(self, place: float) -> float:
        """Centre of a place, in user units."""
        return round(LEFT + (place + 0.5) * self.step, 1)

    def y(self, value: float) -> float:
        """Height of a value, in user units; what is below 0 is shown at 0."""
        value = max(value, 0.0)
        return round(HEIGHT - BOTTOM - value / self.top * (HEIGHT - TOP - BOTTOM), 1)

    @property
    def step(self) -> float:
        """Width of a place."""
        return (WIDTH - LEFT - self.right) / self.places


def by_turn(name: str, curve: Sequence[Budget]) -> Safe:
    """The score that is called `name`, and the share of dialogues that had answered, by each turn."""
    frame = Frame(places=len(curve), top=1.0, right=LABEL_ROOM)
    answered = [(frame.x(n), frame.y(each.answered or 0)) for n, each in enumerate(curve)]
    rates = [each.score for each in curve]
    means = [(frame.x(n), frame.y(rate.mean or 0)) for n, rate in enumerate(rates)]
    lows = [(frame.x(n), frame.y(rate.low or 0)) for n, rate in enumerate(rates)]
    highs = [(frame.x(n), frame.y(rate.high or 0)) for n, rate in enumerate(rates)]
    marks = [
        _hit(frame, n, f"turn {each.turn}: {name} {percent(each.score.mean)}")
        for n, each in enumerate(curve)
    ]
    return _svg(
        f"{name.capitalize()} by turn",
        *_grid(frame, [(tick / 4, f"{tick * 25}") for tick in range(5)]),
        *_ticks(frame, [str(each.turn) for each in curve]),
        element("polygon", points=_points(highs + lows[::-1]), class_="band"),
        element("polyline", points=_points(answered), class_="line second"),
        element("polyline", points=_points(means), class_="line"),
        *(element("circle", cx=x, cy=y, r=2.6, class_="dot") for x, y in means),
        *_names(means[-1], f"{name} {whole_percent(rates[-1].mean)}", answered[-1], curve[-1]),
        *marks,
    )


def _names(mean: Point, name: str, answered: Point, last: Budget) -> list[Safe]:
    """The names of the two curves at their ends, kept apart."""
    second, first = answered[1], mean[1]
    if abs(first - second) < LABEL_GAP:
        upper = min(first, second, HEIGHT - BOTTOM - LABEL_GAP)
        lower = upper + LABEL_GAP
        second, first = (upper, lower) if first >= second else (lower, upper)
    x, answers = mean[0] + 8, f"answered {whole_percent(last.answered)}"
    return [
        element("text", answers, x=x, y=second + 4, class_="name second"),
        element("text", name, x=x, y=first + 4, class_="name"),
    ]


def bars(title: str, labels: Sequence[str], counts: Sequence[int], unit: str) -> Safe:
    """Counts of dialogues by place; the last bar stands out."""
    frame = Frame(places=len(counts), top=_ceiling(max(counts, default=0)))
    ticks = [(frame.top * part / 4, f"{frame.top * part / 4:,.0f}") for part in (0, 2, 4)]
    drawn = []
    for place, (label, amount) in enumerate(zip(labels, counts, strict=True)):
        drawn.append(_bar(frame, place, amount))
        if amount and len(counts) <= MOST_LABELS:
            drawn.append(_amount(frame, place, amount))
        drawn.append(_hit(frame, place, f"{label} {unit}: {amount:,}"))
    return _svg(title, *_grid(frame, ticks), *_ticks(frame, labels), *drawn)


def _bar(frame: Frame, place: int, amount: int) -> Safe:
    return element(
        "rect",
        x=round(frame.x(place) - frame.step * 0.36, 1),
        y=frame.y(amount),
        width=round(frame.step * 0.72, 1),
        height=round(frame.y(0) - frame.y(amount), 1),
        class_="bar",
    )


def _amount(frame: Frame, place: int, amount: int) -> Safe:
    return element(
        "text", f"{amount:,}", x=frame.x(place), y=frame.y(amount) - 4, class_="tick middle"
    )


def _ceiling(most: int) -> float:
    """A round number not below `most`, with room for a label above the bars."""
    size = 4.0
    while True:
        for factor in (1, 2, 3, 5):
            if size * factor >= most * 1.05:
                return size * factor
        size *= 10


def _grid(frame: Frame, ticks: Sequence[tuple[float, str]]) -> list[Safe]:
    drawn = []
    for value, label in ticks:
        y = frame.y(value)
        drawn.append(element("line", x1=LEFT, x2=WIDTH - frame.right, y1=y, y2=y, class_="grid"))
        drawn.append(element("text", label, x=LEFT - 6, y=y + 4, class_="tick end"))
    return drawn


def _ticks(frame: Frame, labels: Sequence[str]) -> list[Safe]:
    every = -(-len(labels) // MOST_LABELS)
    return [
        element("text", label, x=frame.x(place), y=HEIGHT - 6, class_="tick middle")
        for place, label in enumerate(labels)
        if place % every == 0
    ]


def _hit(frame: Frame, place: int, text: str) -> Safe:
    """An invisible area whose tooltip tells the number."""
    x = round(frame.x(place) - frame.step / 2, 1)
    area = {"x": x, "y": TOP, "width": round(frame.step, 1), "height": HEIGHT - TOP - BOTTOM}
    return element("rect", element("title", text), class_="hit", **area)


def _points(points: Sequence[Point]) -> str:
    return " ".join(f"{x},{y}" for x, y in points)


def _svg(title: str, *content: str) -> Safe:
    return element("svg", *content, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=title)
