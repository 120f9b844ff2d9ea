"""Small charts side by side, one for each method: best of n, and dialogues by their number of turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sweet_rl_trainer.study import svg
from sweet_rl_trainer.study.curves import by_turns
from sweet_rl_trainer.study.judges import Judge, distinct
from sweet_rl_trainer.study.methods import METHODS, Method
from sweet_rl_trainer.study.results import Results
from sweet_rl_trainer.study.svg import BLUE, FAINT, ORANGE, Panel, whole
from sweet_rl_trainer.study.tables import full_label, on_tests

COLUMNS = 3
"""Of small charts in a row, one for each method."""


def small(
    title: str,
    methods: Sequence[Method],
    one: Callable[[Method, Panel], Iterator[str]],
    *,
    said: str,
    edges: tuple[tuple[float, float], tuple[float, float]],
    doubling: bool = False,
) -> str:
    """One chart for each method, under its name; `said` stands below all of them."""
    width, height = 340, 236
    parts = []
    for n, method in enumerate(methods):
        left, top = (n % COLUMNS) * width + 48, (n // COLUMNS) * height + 34
        panel = Panel(
            left=left,
            top=top,
            width=width - 74,
            height=height - 84,
            across=edges[0],
            up=edges[1],
            doubling=doubling,
        )
        parts.append(svg.text(full_label(method), left, top - 14, font_weight="bold"))
        parts += one(method, panel)
    rows = -(-len(methods) // COLUMNS)
    parts.append(svg.text(said, 48, rows * height + 18, fill=FAINT))
    return svg.document(title, COLUMNS * width, rows * height + 32, parts)


def best_of_n(found: Sequence[Judge]) -> str | None:
    """For each critic, what choosing the best of n dialogues by it is worth."""
    known = {each.method.name: each for each in distinct(found) if len(each.best_of) > 1}
    if not known:
        return None
    most = max(each.best_of[-1][0] for each in known.values())
    highest = svg.ceiling(max(high for each in known.values() for _, (_, _, high) in each.best_of))

    def one(method: Method, panel: Panel) -> Iterator[str]:
        yield from _chosen_by(panel, known[method.name])
        if method.name != "sweet" and "sweet" in known:
            points = [(panel.x(n), panel.y(mean)) for n, (mean, _, _) in known["sweet"].best_of]
            yield svg.line(points, ORANGE, stroke_width=1.5, stroke_dasharray="6 3")

    return small(
        "Success of the best of n dialogues, by each critic",
        [each.method for each in known.values()],
        one,
        said="success of the one with the highest score · solid: this critic, with its 95 % interval · "
        "dashed: SWEET-RL's · dotted: any one dialogue",
        edges=((1, most), (0, highest)),
        doubling=True,
    )


def _chosen_by(panel: Panel, judge: Judge) -> Iterator[str]:
    counts = [(n, str(n)) for n, _ in judge.best_of]
    yield from svg.frame(panel, counts, _shares(panel))
    yield svg.axis_name(panel, "n dialogues")
    floor = panel.y(judge.best_of[0][1][0])
    ends = [(panel.left, floor), (panel.left + panel.width, floor)]
    yield svg.line(ends, FAINT, stroke_width=1.5, stroke_dasharray="2 4")
    places = [(panel.x(n), *(panel.y(each) for each in bounds)) for n, bounds in judge.best_of]
    yield svg.band([(x, low, high) for x, _, low, high in places], BLUE)
    yield svg.line([(x, y) for x, y, _, _ in places], BLUE)
    yield from (svg.dot((x, y), BLUE, 3) for x, y, _, _ in places)


def _shares(panel: Panel) -> list[tuple[float, str]]:
    return [(tick, f"{whole(tick)} %") for tick in svg.ticks(*panel.up)]


def turns(results: Results) -> str | None:
    """For each method, its dialogues on the test tasks by their number of turns, and how many succeeded."""
    tests = {each.name: on_tests(results, each.name) for each in METHODS}
    counts = {name: by_turns(by_seed) for name, by_seed in tests.items() if by_seed}
    if not counts:
        return None
    shares = {
        name: {n: (all_ / total, right / total) for n, (all_, right) in found.items()}
        for name, found in counts.items()
        if (total := sum(all_ for all_, _ in found.values()))
    }
    longest = max(n for found in shares.values() for n in found)
    highest = svg.ceiling(max(part for found in shares.values() for part, _ in found.values()))

    def one(method: Method, panel: Panel) -> Iterator[str]:
        every = -(-(longest + 1) // 12)
        across = [(n, str(n)) for n in range(0 if 0 in shares[method.name] else 1, longest + 1)]
        yield from svg.frame(panel, across[::every], _shares(panel))
        yield svg.axis_name(panel, "turns")
        for n, (part, right) in shares[method.name].items():
            yield _bar(panel, n, part, svg.GRID, FAINT)
            yield _bar(panel, n, right, BLUE, BLUE)

    return small(
        "Dialogues on the test tasks by their number of turns",
        [each for each in METHODS if each.name in shares],
        one,
        said="bar: share of the dialogues that took so many turns · filled part: successful ones",
        edges=((0.4, longest + 0.6), (0, highest)),
    )


def _bar(panel: Panel, place: int, part: float, fill: str, edge: str) -> str:
    left, right, top = panel.x(place - 0.36), panel.x(place + 0.36), panel.y(part)
    size = {"width": round(right - left, 2), "height": round(panel.y(0) - top, 2)}
    return svg.tag("rect", x=left, y=top, **size, fill=fill, stroke=edge, stroke_width=0.8)
