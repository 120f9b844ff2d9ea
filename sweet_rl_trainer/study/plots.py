"""The charts of the report; the numbers also stand in its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sweet_rl_trainer.study import svg
from sweet_rl_trainer.study.curves import Share, scaling
from sweet_rl_trainer.study.judges import judges
from sweet_rl_trainer.study.methods import METHODS, NAMED, Group, Method
from sweet_rl_trainer.study.results import Results
from sweet_rl_trainer.study.small_plots import best_of_n, turns
from sweet_rl_trainer.study.svg import BLUE, FAINT, GREEN, ORANGE, PURPLE, Panel, whole
from sweet_rl_trainer.study.tables import Found, find, full_label, on_tests
from sweet_rl_trainer.study.text import percent
from sweet_rl_trainer.study.training_plots import training

GROUPS: dict[Group, str] = {
    "main": "The paper's comparison",
    "ablation": "Ablations",
    "remedy": "Remedies",
}
SHAPES = ((BLUE, ""), (ORANGE, "7 3"), (GREEN, "2 3"), (PURPLE, "9 3 2 3"))
"""Of lines in one chart: colour and dashes."""


def draw(results: Results) -> dict[str, str]:
    """All charts for which there are numbers, by the name of their file without `.svg`."""
    charts = {
        "success": success(results),
        **{f"training-{group}": training(results, group) for group in GROUPS},
        "best-of-n": best_of_n(judges(results)),
        "scaling": scaled(results),
        "turns": turns(results),
    }
    return {name: chart for name, chart in charts.items() if chart}


def success(results: Results) -> str | None:
    """Each method's success on the test tasks: mean, interval and seeds, one below the other."""
    found = {each.name: find(on_tests(results, each.name)) for each in METHODS}
    known = {name: each for name, each in found.items() if each}
    if not known:
        return None
    lines: list[Method | str] = []
    for group, title in GROUPS.items():
        members = [NAMED[name] for name in known if NAMED[name].group == group]
        lines += [title, *members] if members else []
    most = svg.ceiling(max(_highest(each) for each in known.values()))
    height = 26 * len(lines)
    panel = Panel(left=270, top=34, width=420, height=height, across=(0, most), up=(len(lines), 0))
    parts = list(_upright_grid(panel))
    for place, each in enumerate(lines):
        y = panel.y(place + 0.5)
        if isinstance(each, str):
            parts.append(svg.text(each, 12, y + 4, font_weight="bold"))
        else:
            parts.append(svg.text(full_label(each), 258, y + 4, text_anchor="end"))
            parts += _on_a_line(panel, y, known[each.name])
    said = "dot: mean over seeds · line: 95 % interval by task · rings: seeds"
    parts.append(svg.text(said, panel.left, height + 74, fill=FAINT))
    return svg.document("Success on the test tasks, by method", 780, height + 88, parts)


def _highest(found: Found) -> float:
    return max(found.success.high or 0.0, *found.seeds.values())


def _upright_grid(panel: Panel) -> Iterator[str]:
    bottom = panel.top + panel.height
    for tick in svg.ticks(*panel.across, 6):
        x = panel.x(tick)
        yield svg.tag("line", x1=x, x2=x, y1=panel.top, y2=bottom, stroke=svg.GRID)
        yield svg.text(whole(tick), x, bottom + 17, text_anchor="middle", fill=FAINT)
    yield svg.text("success on the test tasks, %", panel.left, 20, fill=FAINT)


def _on_a_line(panel: Panel, y: float, found: Found) -> Iterator[str]:
    low, high = (panel.x(each or 0.0) for each in (found.success.low, found.success.high))
    yield svg.tag("line", x1=low, x2=high, y1=y, y2=y, stroke=BLUE, stroke_width=2.5)
    yield svg.dot((panel.x(found.success.mean or 0.0), y), BLUE, 4.5)
    for value in found.seeds.values():
        yield svg.dot((panel.x(value), y + 8), FAINT, 2.5, ring=True)
    yield svg.text(percent(found.success.mean), panel.left + panel.width + 16, y + 4)


def scaled(results: Results) -> str | None:
    """Success on the test tasks over the share of the training tasks."""
    curves = scaling(results)
    if not curves:
        return None
    shares = [each for curve in curves.values() for each in curve]
    most = svg.ceiling(max(each.found.success.high or 0.0 for each in shares))
    panel = Panel(left=56, top=34, width=470, height=300, across=(0, 1), up=(0, most))
    places = sorted({each.share for each in shares})
    parts = svg.frame(
        panel,
        [(share, whole(share)) for share in places],
        [(tick, whole(tick)) for tick in svg.ticks(0, most, 6)],
    )
    parts.append(svg.text("success on the test tasks, %", 12, 20, fill=FAINT))
    parts.append(svg.axis_name(panel, "share of the training tasks, %"))
    ends = []
    for n, (name, curve) in enumerate(curves.items()):
        colour, dashes = SHAPES[n % len(SHAPES)]
        aside = 5 * (n - (len(curves) - 1) / 2)
        parts += _scaled_curve(panel, curve, colour, dashes, aside)
        ends.append((panel.y(curve[-1].found.success.mean or 0.0), NAMED[name].label, colour))
    seeds = {each.seed for each in results.scaling}
    tests = on_tests(results, "zero-shot")
    if base := find({seed: tests[seed] for seed in tests if seed in seeds}):
        floor = panel.y(base.success.mean or 0.0)
        points = [(panel.left, floor), (panel.left + panel.width, floor)]
        parts.append(svg.line(points, FAINT, stroke_width=1, stroke_dasharray="2 4"))
        ends.append((floor, NAMED["zero-shot"].label, FAINT))
    parts += _labels(panel, ends)
    return svg.document("Success by the amount of training data", 720, 390, parts)


def _scaled_curve(
    panel: Panel, curve: Sequence[Share], colour: str, dashes: str, aside: float
) -> Iterator[str]:
    points = []
    for each in curve:
        x, found = panel.x(each.share) + aside, each.found.success
        yield svg.whisker(x, panel.y(found.low or 0.0), panel.y(found.high or 0.0), colour)
        points.append((x, panel.y(found.mean or 0.0)))
    yield svg.line(points, colour, stroke_dasharray=dashes or "none")
    yield from (svg.dot(point, colour) for point in points)


def _labels(panel: Panel, ends: Sequence[tuple[float, str, str]]) -> Iterator[str]:
    """The names of lines at their right ends, kept apart."""
    bottom = panel.top + panel.height
    places = svg.spread([y for y, _, _ in ends], 16, panel.top, bottom)
    x = panel.left + panel.width
    for (y, label, colour), place in zip(ends, places, strict=True):
        leader = [(x + 10, y), (x + 20, place)]
        yield svg.line(leader, colour, stroke_width=1)
        yield svg.text(label, x + 24, place + 4, fill=colour)
