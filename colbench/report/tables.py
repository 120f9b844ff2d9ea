"""The table of scores: every mode, both denominators, and in frontend design every measure and the floors."""

from __future__ import annotations

from collections.abc import Iterator

from colbench.numbers import (
    NOTHING,
    count,
    percent,
    percent_range,
    points,
    points_range,
    sentence,
)
from colbench.report.facts import measure_name, value_name
from colbench.report.frontend import FLOORS, METRICS
from colbench.report.markup import Safe, element, join, table
from colbench.report.model import DomainReport, ModeReport
from colbench.stats import Interval

FLOOR_NAMES = {
    "black": "Black page",
    "white": "White page",
    "other": "Another target",
    "target": "Target itself",
}
SCROLLS: dict[str, object] = {"tabindex": 0, "role": "region", "aria_label": "Scores"}
"""For what may be wider than the window: it scrolls by the keyboard too."""


def scores(domain: DomainReport) -> Safe:
    """Both scoring modes, both denominators, their difference, and pass^k or the floors."""
    if domain.lead != "tests_passed":
        return element("div", _metric_table(domain), class_="scroll wide", **SCROLLS)
    heads = ("Scoring", "Success rate", value_name(domain).capitalize(), "Dialogues")
    return element("div", table("Scores by mode", heads, _score_rows(domain)), class_="scroll wide")


def _metric_table(domain: DomainReport) -> Safe:
    """Every measure in every mode, beside what pages that nobody designed would have."""
    floors = [page for page in FLOORS if page in domain.floors]
    rows: list[tuple[str, ...]] = []
    taken = {name for report in domain.modes.values() for name in report.metrics}
    for name in [each for each in METRICS if each in taken] or [domain.lead]:
        means = (_mean(report, name) for report in domain.modes.values())
        shown = (_amount(domain.floors[page].get(name)) for page in floors)
        rows.append((sentence(measure_name(name)), *means, *shown))
    rows += _zero_rows(domain, len(floors))
    heads = (
        *(f"{mode.capitalize()} scoring" for mode in domain.modes),
        *(FLOOR_NAMES[page] for page in floors),
    )
    return table("Scores, and the same for pages that nobody designed", ("Measure", *heads), rows)


def _mean(report: ModeReport, name: str) -> Safe:
    mean = report.value if name == report.lead else report.metrics.get(name)
    return _cell(mean) if mean else Safe(NOTHING)


def _zero_rows(domain: DomainReport, floors: int) -> Iterator[tuple[str, ...]]:
    zeros = [report.unscored_as_zero for report in domain.modes.values()]
    rest = [NOTHING] * floors
    if any(zeros):
        name = f"{value_name(domain).capitalize()}, unscored as 0"
        yield name, *(_cell(zero.value) if zero else Safe(NOTHING) for zero in zeros), *rest
    if delta := domain.delta:
        gap = _with_range(points(delta.value.mean), points_range(delta.value))
        differing = f"{delta.differing:,} of {delta.cells:,} differ"
        name = f"{value_name(domain).capitalize()}, {delta.mode} − {delta.base}"
        yield name, gap, differing, *rest


def _score_rows(domain: DomainReport) -> Iterator[tuple[str, ...]]:
    for mode, report in domain.modes.items():
        name = f"{mode} (leading)" if mode == domain.mode and len(domain.modes) > 1 else mode
        yield name, _cell(report.success_rate), _cell(report.value), f"{report.scored:,}"
        if zero := report.unscored_as_zero:
            name = f"{mode}, unscored as 0"
            yield name, _cell(zero.success_rate), _cell(zero.value), f"{domain.cells:,}"
    if delta := domain.delta:
        yield (
            f"{delta.mode} − {delta.base}",
            _with_range(points(delta.success_rate.mean), points_range(delta.success_rate)),
            _with_range(points(delta.value.mean), points_range(delta.value)),
            f"{delta.differing:,} of {delta.cells:,} differ",
        )
    for each in domain.pass_k:
        yield f"pass^{each.k}", _cell(each.rate), NOTHING, count(each.tasks, "task")


def _cell(interval: Interval) -> Safe:
    return _with_range(percent(interval.mean), percent_range(interval))


def _amount(share: float | None) -> Safe:
    return element("span", percent(share), class_="amount")


def _with_range(value: str, text: str) -> Safe:
    return join([element("b", value), " ", element("small", text)])
