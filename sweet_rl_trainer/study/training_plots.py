"""Charts along training, on the validation tasks: a row of small charts for each method, one for each measure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sweet_rl_trainer.study import svg
from sweet_rl_trainer.study.curves import MEASURES, Mean, curves_of, mean_curve
from sweet_rl_trainer.study.methods import METHODS, NAMED, Group
from sweet_rl_trainer.study.results import Results, Step
from sweet_rl_trainer.study.svg import BLUE, FAINT, ORANGE, Panel, Place, whole
from sweet_rl_trainer.study.tables import full_label, rows_of

WIDTH, HEIGHT = 244, 150
"""Of the space of one chart."""
SUCCESS = "success, %"
Curves = Mapping[int, tuple[Step, ...]]


def training(results: Results, group: Group) -> str | None:
    """The charts of a group's methods; None if none of them was trained."""
    members = [each.name for each in METHODS if each.group == group]
    curves = {name: found for name in members if (found := curves_of(results, name))}
    if not curves:
        return None
    means = {name: mean_curve(found) for name, found in curves.items()}
    heights = {
        measure: svg.ceiling(max(_values(measure, curves.values(), means.values())))
        for measure in MEASURES
    }
    parts = [
        svg.text(measure, column * WIDTH + 46, 18, fill=FAINT)
        for column, measure in enumerate(MEASURES)
    ]
    for n, (name, found) in enumerate(curves.items()):
        top = n * HEIGHT + 56
        parts.append(svg.text(full_label(NAMED[name]), 12, top - 14, font_weight="bold"))
        steps = {row.seed: row.step for row in rows_of(results, name)}
        last = max(curve[-1].step for curve in found.values())
        for column, (measure, highest) in enumerate(heights.items()):
            panel = Panel(
                left=column * WIDTH + 46,
                top=top,
                width=WIDTH - 66,
                height=HEIGHT - 70,
                across=(0, last),
                up=(0, highest),
            )
            parts += _chart(panel, measure, found, means[name], steps)
    return svg.document(
        "On the validation tasks, along training",
        len(MEASURES) * WIDTH,
        len(curves) * HEIGHT + 68,
        parts + list(_said(len(curves) * HEIGHT + 38)),
    )


def _said(top: float) -> Iterator[str]:
    lines = (
        "across: optimiser steps · thick line: mean over seeds · thin lines: seeds · rings: chosen checkpoints",
        "band: 95 % interval of success, by task",
    )
    for n, words in enumerate(lines):
        yield svg.text(words, 12, top + 17 * n, fill=FAINT)


def _values(
    measure: str, curves: Iterable[Curves], means: Iterable[Sequence[Mean]]
) -> Iterator[float]:
    """All that a measure's charts have to hold."""
    for found in curves:
        for curve in found.values():
            yield from (MEASURES[measure](step.outcomes) for step in curve)
    if measure == SUCCESS:
        yield from (each.success.high or 0.0 for found in means for each in found)


def _chart(
    panel: Panel, measure: str, curves: Curves, means: Sequence[Mean], chosen: Mapping[int, int]
) -> Iterator[str]:
    share = measure.endswith("%")
    yield from svg.frame(
        panel,
        [(tick, f"{tick:,g}") for tick in svg.ticks(*panel.across, 4)],
        [(tick, whole(tick) if share else f"{tick:,g}") for tick in svg.ticks(*panel.up, 3)],
    )
    if measure == SUCCESS:
        yield _band(panel, means)
    rings = []
    for seed, curve in curves.items():
        places: dict[int, Place] = {
            step.step: (panel.x(step.step), panel.y(MEASURES[measure](step.outcomes)))
            for step in curve
        }
        yield svg.line(list(places.values()), BLUE, stroke_width=0.8, stroke_opacity=0.6)
        rings += [places[chosen[seed]]] if chosen[seed] in places else []
    points = [(panel.x(each.step), panel.y(each.values[measure])) for each in means]
    yield svg.line(points, BLUE)
    yield from (svg.dot(place, ORANGE, 4, ring=True) for place in rings)


def _band(panel: Panel, means: Sequence[Mean]) -> str:
    ends = [(each.step, each.success.low or 0.0, each.success.high or 0.0) for each in means]
    return svg.band([(panel.x(x), panel.y(low), panel.y(high)) for x, low, high in ends], BLUE)
