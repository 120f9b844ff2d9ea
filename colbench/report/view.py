"""What the page shows of a domain, ready for its template."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup
from msgspec import Struct

from colbench.domain import Domain
from colbench.numbers import (
    count,
    number,
    number_range,
    percent,
    percent_range,
    sentence,
    whole_percent,
)
from colbench.report.facts import (
    FEW_TASKS,
    Section,
    curve,
    grid_size,
    leads_with_fallback,
    sections,
)
from colbench.report.model import DomainReport
from colbench.report.tables import Cell, Table, score_tables
from colbench.report.verdicts import metric_label
from colbench.stats import Interval
from colbench.web.charts import Curve, bar_chart, curve_chart, interval_bar
from colbench.web.plot import SMALL

ELSEWHERE = {"Scores", "Floors", "Notes on scores"}
"""Sections of facts that the page shows in other forms."""


class Tile(Struct, frozen=True, kw_only=True):
    """A number to remember."""

    label: str
    value: str
    note: str
    kind: str = ""
    """`lead`: large. `warn`: a warning."""
    bar: Markup = Markup()


class Figure(Struct, frozen=True, kw_only=True):
    """A chart and its numbers."""

    title: str
    caption: str
    chart: Markup
    table: Table


class DomainView(Struct, frozen=True, kw_only=True):
    """A domain's part of the page."""

    title: str
    scoring: str
    tiles: Sequence[Tile]
    notes: Sequence[tuple[str, str]]
    tables: Sequence[Table]
    figures: Sequence[Figure]
    sections: Sequence[Section]


def domain_view(domain: Domain, report: DomainReport) -> DomainView:
    """Return a domain's part of the page."""
    return DomainView(
        title=f"{domain.title}: {grid_size(report)}",
        scoring=_scoring(report),
        tiles=list(_tiles(domain, report)),
        notes=list(_notes(domain, report)),
        tables=list(score_tables(domain, report)),
        figures=list(_figures(domain, report)),
        sections=[each for each in sections(domain, report) if each.title not in ELSEWHERE],
    )


def _scoring(report: DomainReport) -> str:
    by = ", ".join(f"{scorer} ({verdicts:,})" for scorer, verdicts in report.scorers.items())
    text = f"{sentence(report.mode)} scoring{by and ' by '}{by}. "
    text += "Means over tasks with 95 % intervals, resampled by task."
    if report.tasks < FEW_TASKS:
        text += f" Fewer than {FEW_TASKS} tasks: the intervals are rough."
    return text


def _tiles(domain: Domain, report: DomainReport) -> Iterator[Tile]:
    for label, interval in _leading(domain, report):
        yield Tile(
            label=sentence(label),
            value=percent(interval.mean),
            note=percent_range(interval),
            kind="lead",
            bar=interval_bar(interval.mean, interval.low, interval.high),
        )
    for label, mean in (("Turns", report.turns.mean), ("Human words", report.words.human)):
        yield Tile(label=label, value=number(mean.mean), note=number_range(mean))
    if report.unscored:
        note = f"of {report.cells:,}; left out of the rates"
        yield Tile(label="Unscored", value=f"{report.unscored:,}", note=note, kind="warn")


def _leading(domain: Domain, report: DomainReport) -> Iterator[tuple[str, Interval]]:
    if domain.success and report.success_rate:
        yield domain.success.label, report.success_rate
    yield metric_label(domain, report.lead), report.value
    fallback = domain.fallback
    if report.win_rate:
        yield "win rate", report.win_rate.rate
    elif fallback and fallback.name != report.lead and fallback.name in report.metrics:
        yield fallback.label, report.metrics[fallback.name]


def _notes(domain: Domain, report: DomainReport) -> Iterator[tuple[str, str]]:
    """Yield what the verdicts say besides their numbers, as a head and a text."""
    if leads_with_fallback(domain, report):
        yield f"No {domain.primary.label}", domain.primary.lacking
    for each in report.notes:
        yield count(each.count, "dialogue"), each.reason


def _figures(domain: Domain, report: DomainReport) -> Iterator[Figure]:
    yield from _curve(domain, report)
    tenths = [str(10 * n) for n in range(len(report.distribution))]
    turns = [str(n) for n in range(1, len(report.turns.distribution) + 1)]
    name = sentence(metric_label(domain, report.lead))
    caption = "Dialogues by score in %, rounded to tens"
    yield _histogram(name, "%", caption, tenths, report.distribution)
    caption = "Whole dialogues by number of turns"
    yield _histogram("Turns", "turns", caption, turns, report.turns.distribution)


def _curve(domain: Domain, report: DomainReport) -> Iterator[Figure]:
    """Yield the scores by turn, where they are known, with the share of dialogues that had answered."""
    name, values = curve(domain, report)
    if not values:
        return
    turns = [str(n) for n in range(1, len(values) + 1)]
    answers = [each.answered for each in report.by_turn]
    title = f"{sentence(name)} by turn"
    rows = [
        (turn, (Cell(percent(v.mean)), Cell(percent_range(v)), Cell(percent(answered))))
        for turn, v, answered in zip(turns, values, answers, strict=True)
    ]
    caption = "% of dialogues that had answered by a turn"
    if not domain.success:
        caption = f"% of the {domain.noun} shown last, 0 while there is none"
    yield Figure(
        title=title,
        caption=caption,
        chart=curve_chart(
            title,
            [
                Curve(
                    title="answered",
                    name=f"answered {whole_percent(answers[-1])}",
                    shares=[each or 0 for each in answers],
                    emphasis="reference",
                ),
                Curve(
                    title=name,
                    name=f"{name} {whole_percent(values[-1].mean)}",
                    shares=[each.mean or 0 for each in values],
                    band=[(each.low or 0, each.high or 0) for each in values],
                ),
            ],
            size=SMALL,
            tips=[
                f"turn {n}: {name} {percent(v.mean)}" for n, v in zip(turns, values, strict=True)
            ],
        ),
        table=Table(
            caption=title, heads=("Turn", sentence(name), "95 % interval", "Answered"), rows=rows
        ),
    )


def _histogram(
    name: str, unit: str, caption: str, labels: Sequence[str], counts: Sequence[int]
) -> Figure:
    rows = [(label, [Cell(f"{n:,}")]) for label, n in zip(labels, counts, strict=True)]
    return Figure(
        title=name,
        caption=caption,
        chart=bar_chart(name, labels, counts, unit),
        table=Table(caption=name, heads=(sentence(unit), "Dialogues"), rows=rows),
    )
