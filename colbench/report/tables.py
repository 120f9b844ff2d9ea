"""The tables of scores: a table by mode, and a table by metric, which also shows the floors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from colbench.domain import Domain
from colbench.numbers import (
    NOTHING,
    count,
    measure,
    measure_range,
    points,
    points_range,
    sentence,
)
from colbench.report.facts import differs, further_metrics
from colbench.report.model import DomainReport, ModeReport, Rates
from colbench.report.verdicts import metric_label, metric_of
from colbench.stats import Interval


class Cell(Struct, frozen=True):
    """A value and its qualifier, such as an interval."""

    value: str
    note: str = ""
    strong: bool = False


class Row(Struct, frozen=True):
    """A row of a table: its heading (`head`), its cells, and an explanation of the heading if needed."""

    head: str
    cells: Sequence[Cell]
    hint: str = ""


class Table(Struct, frozen=True, kw_only=True):
    """A table whose first column contains the row headings."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Row]
    kind: str = ""
    """Style of the table: `metrics` for a table of which a phone shows only the first three columns."""


EMPTY = Cell(NOTHING)


def score_tables(domain: Domain, report: DomainReport) -> Iterator[Table]:
    """Yield the tables of a domain: by mode if the domain defines success, and by metric.

    In a domain that defines success, a table that would only repeat the headline is left out.
    """
    if domain.success and (differs(report) or report.unscored or report.pass_k):
        yield _by_mode(domain, report)
    if not domain.success or report.floors or further_metrics(domain, report):
        yield _by_metric(domain, report)


def _by_mode(domain: Domain, report: DomainReport) -> Table:
    """Return the table of success and leading metric.

    It has a row for each scoring mode, a second row for a mode with unscored dialogues (counted as 0), a row for the
    difference between two modes, and a row for each pass^k.
    """
    names = (domain.success.label if domain.success else "", metric_label(domain, report.lead))
    heads = ("Scoring", *map(sentence, names), "Dialogues")
    return Table(caption="Scores by mode", heads=heads, rows=list(_mode_rows(report)))


def _mode_rows(report: DomainReport) -> Iterator[Row]:
    for mode, found in shown_modes(report).items():
        leads = mode == report.mode and differs(report)
        yield Row(f"{mode} (leading)" if leads else mode, _rates(found, f"{found.scored:,}"))
        if found.scored and (zero := found.unscored_as_zero):
            yield Row(f"{mode}, unscored as 0", _rates(zero, f"{found.scored + found.unscored:,}"))
    if (delta := report.delta) and differs(report):
        differing = Cell(f"{delta.differing:,} of {delta.cells:,} differ")
        success = _points(delta.success_rate) if delta.success_rate else EMPTY
        yield Row(f"{delta.mode} − {delta.base}", (success, _points(delta.value), differing))
    for each in report.pass_k:
        tasks = Cell(count(each.tasks, "task"))
        trials = "a trial succeeds" if each.k == 1 else f"{each.k} trials of a task all succeed"
        hint = f"chance that {trials}"
        yield Row(f"pass^{each.k}", (_mean(each.rate), EMPTY, tasks), hint)


def shown_modes(report: DomainReport) -> dict[str, ModeReport]:
    """Return the scoring modes by name: only the leading mode, or all modes if their verdicts differ."""
    return {
        mode: found
        for mode, found in report.modes.items()
        if mode == report.mode or differs(report)
    }


def _rates(rates: Rates, dialogues: str) -> tuple[Cell, ...]:
    return _mean(rates.success_rate), _mean(rates.value), Cell(dialogues)


def _by_metric(domain: Domain, report: DomainReport) -> Table:
    """Return the table of metrics, with a column for each mode, then for each floor (answers that need no dialogue)."""
    modes_shown = shown_modes(report)
    taken = {name for found in modes_shown.values() for name in found.metrics}
    order = [metric.name for metric in domain.metrics if metric.role != "success"]
    names = [name for name in dict.fromkeys([*order, *report.metrics]) if name in taken]
    rows = [_metric_row(domain, report, name) for name in names or [report.lead]]
    if not domain.success:
        rows += _value_rows(domain, report)
    modes = [f"{sentence(mode)} scoring" for mode in modes_shown]
    floors = [sentence(domain.floors.get(floor, floor)) for floor in report.floors]
    caption = "Metrics, and floors to compare them with" if floors else "Metrics"
    heads = ("Metric", *modes, *floors)
    return Table(caption=caption, heads=heads, rows=rows, kind="metrics")


def _metric_row(domain: Domain, report: DomainReport, name: str) -> Row:
    metric = metric_of(domain, name)
    found = (_metric(each, name, report.lead) for each in shown_modes(report).values())
    floors = [Cell(measure(each.get(name), metric.unit)) for each in report.floors.values()]
    better = " (lower is better)" if metric.direction == "lower" else ""
    cells = (*(_mean(each, metric.unit) for each in found), *floors)
    return Row(sentence(metric.label) + better, cells, metric.description)


def _metric(found: ModeReport, name: str, lead: str) -> Interval | None:
    return found.value if name == lead else found.metrics.get(name)


def _value_rows(domain: Domain, report: DomainReport) -> Iterator[Row]:
    lead = sentence(metric_label(domain, report.lead))
    rest = [EMPTY] * len(report.floors)
    zeros = [found.unscored_as_zero for found in shown_modes(report).values()]
    if report.scored and any(zeros):
        means = [_mean(zero.value) if zero else EMPTY for zero in zeros]
        yield Row(f"{lead}, unscored as 0", (*means, *rest))
    if (delta := report.delta) and differs(report):
        differing = Cell(f"{delta.differing:,} of {delta.cells:,} differ")
        yield Row(f"{lead}, {delta.mode} − {delta.base}", (_points(delta.value), differing, *rest))


def _mean(interval: Interval | None, unit: str = "%") -> Cell:
    if interval is None:
        return EMPTY
    return Cell(measure(interval.mean, unit), measure_range(interval, unit), strong=True)


def _points(interval: Interval) -> Cell:
    return Cell(points(interval.mean), points_range(interval), strong=True)
