"""A domain's part of the page, ready for its template."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup
from msgspec import Struct

from colbench.domain import Domain, Metric
from colbench.numbers import (
    count,
    dollars,
    number,
    number_range,
    percent,
    percent_range,
    sentence,
    whole_percent,
)
from colbench.report.fact import Section
from colbench.report.facts import (
    FEW_TASKS,
    curve,
    differs,
    grid_size,
    has_few_tasks,
    leads_with_fallback,
    not_counted,
    nothing_scored,
    sections,
)
from colbench.report.failure_view import FailureView, FollowedView, failure_view, followed_view
from colbench.report.model import DomainReport
from colbench.report.tables import Cell, Row, Table, score_tables
from colbench.report.verdicts import metric_label, metric_of
from colbench.stats import Interval
from colbench.task import Task
from colbench.web.charts import Curve, bar_chart, curve_chart, interval_bar
from colbench.web.plot import SMALL

ELSEWHERE = {"Scores", "Floors"}
"""Sections of facts that the page shows in other forms."""


class Tile(Struct, frozen=True, kw_only=True):
    """A headline number."""

    label: str
    value: str
    note: str
    """The number's interval, or a remark on the number."""
    hint: str = ""
    """The number's meaning."""
    lines: Sequence[tuple[str, str]] = ()
    """Further lines, such as the ceiling of the number: each has a kind (`ceiling`, `floor` or empty) and a text."""
    kind: str = ""
    """Style of the tile: `lead` for a large one, `warn` for a warning."""
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
    leads: Sequence[Tile]
    tiles: Sequence[Tile]
    failures: FailureView | None
    followed: FollowedView | None
    curve: Figure | None
    """The scores by turn, if they are known."""
    notes: Sequence[tuple[str, str]]
    tables: Sequence[Table]
    """Tables shown below the headline numbers."""
    further: Sequence[Table]
    """Tables in the part of the page that is collapsed at first."""
    figures: Sequence[Figure]
    sections: Sequence[Section]


def domain_view(domain: Domain, report: DomainReport, tasks: Sequence[Task]) -> DomainView:
    """Return a domain's part of the page; `tasks` are the tasks of the domain."""
    tables = list(score_tables(domain, report))
    return DomainView(
        title=f"{domain.title}: {grid_size(report)}",
        scoring=_scoring(report),
        leads=list(_leads(domain, report)),
        tiles=list(_tiles(report)),
        failures=failure_view(report, tasks),
        followed=followed_view(report.followed),
        curve=next(_curve(domain, report), None),
        notes=list(_notes(domain, report)),
        tables=[] if domain.success else tables,
        further=tables if domain.success else [],
        figures=list(_figures(domain, report)),
        sections=[each for each in sections(domain, report) if each.title not in ELSEWHERE],
    )


def _scoring(report: DomainReport) -> str:
    text = f"{sentence(report.mode)} scoring"
    others = [mode for mode in report.modes if mode != report.mode]
    if others and not differs(report):
        text += f"; each answer has the same score in {' and '.join(others)} scoring"
    text += ". Means over tasks with 95% intervals, resampled by task."
    if has_few_tasks(report):
        text += f" Fewer than {FEW_TASKS} scored tasks: the intervals are rough."
    return text


def _leads(domain: Domain, report: DomainReport) -> Iterator[Tile]:
    """Yield the headline numbers: the scores, Ask F1, and the share of differences that were fixed."""
    for metric, interval in _leading(domain, report):
        marks = list(_marks(domain, report, metric))
        yield Tile(
            label=sentence(metric.label),
            value=percent(interval.mean),
            note=percent_range(interval),
            hint=metric.description,
            lines=[(kind, text) for kind, text, _ in marks],
            kind="lead",
            bar=_bar(interval, [(kind, worth) for kind, _, worth in marks]),
        )
    if report.asking and (asked := report.asking.metrics["ask_f1"]).mean is not None:
        found = {name: each.mean for name, each in report.asking.metrics.items()}
        parts = (
            f"precision {percent(found['ask_precision'])}, recall {percent(found['ask_recall'])}"
        )
        yield Tile(
            label=f"Ask F1{', estimated' if report.asking.estimated else ''}",
            value=percent(asked.mean),
            note=percent_range(asked),
            hint="harmonic mean of precision (the share of questions that revealed an open decision) and "
            "recall (the share of hidden decisions that were revealed)",
            lines=[("", parts)],
            kind="lead",
            bar=_bar(asked),
        )

    if report.followed:
        fixed = report.followed.metrics["differences_fixed"]
        yield Tile(
            label="Fixed on the next page",
            value=percent(fixed.mean),
            note=percent_range(fixed),
            hint="share of the differences that the human pointed out",
            kind="lead",
            bar=_bar(fixed),
        )


def _bar(interval: Interval, marks: Sequence[tuple[str, float]] = ()) -> Markup:
    return interval_bar(interval.mean, interval.low, interval.high, marks)


def _marks(
    domain: Domain, report: DomainReport, metric: Metric
) -> Iterator[tuple[str, str, float]]:
    """Yield the ceiling and the main floor of a score, each as kind, text and value; a floor of 0 is left out."""
    if ceiling := report.ceiling:
        told = ceiling.success_rate if metric.role == "success" else ceiling.value
        if told and told.mean is not None and metric.name in (report.lead, "success"):
            tasks = "" if ceiling.tasks == report.tasks else f" ({count(ceiling.tasks, 'task')})"
            yield "ceiling", f"{percent(told.mean)} ceiling: told everything{tasks}", told.mean
    name = next(iter(domain.floors), "")
    floor = report.floors.get(name, {}).get(metric.name)
    if floor:
        yield "floor", f"{percent(floor)} floor: {domain.floors[name]}", floor


def _tiles(report: DomainReport) -> Iterator[Tile]:
    if report.win_rate:
        wins = report.win_rate
        name = f"Wins over {wins.agent or 'the baseline'}"
        yield Tile(label=name, value=percent(wins.rate.mean), note=percent_range(wins.rate))
    if report.asking and report.asking.metrics["questions"].mean is not None:
        asked, needed = (report.asking.metrics[name] for name in ("questions", "needed_questions"))
        note = f"at least {number(needed.mean)} needed"
        yield Tile(label="Questions", value=number(asked.mean), note=note)
    words = report.words
    for label, mean in (
        ("Turns", report.turns.mean),
        ("Words the human wrote", words.human),
        ("Words the human read", words.agent),
    ):
        if mean.mean is not None:
            note = "in every dialogue" if mean.method == "none" else number_range(mean)
            yield Tile(label=label, value=number(mean.mean), note=note)
    yield from _cost(report)
    if report.unscored:
        note = f"of {count(report.cells, 'dialogue')}; left out of the scores above"
        yield Tile(label="Unscored", value=f"{report.unscored:,}", note=note, kind="warn")


def _cost(report: DomainReport) -> Iterator[Tile]:
    """Yield the cost of the dialogues so far. If one role's cost is unknown, the label names the other role."""
    costs = {"agent": report.cost.agent, "human": report.cost.human}
    known = {role: cost for role, cost in costs.items() if cost is not None}
    if not any(known.values()):
        return
    paid = {role for role, used in report.tokens.items() if used or role in report.replies}
    label = "Cost" if paid <= known.keys() else f"{sentence(next(iter(known)))} cost"
    used = [each for role, each in report.tokens.items() if each and role in known]
    note = f"for {count(report.cells - report.missing, 'dialogue')}"
    note += not_counted(sum(each.uncounted for each in used))
    yield Tile(label=label, value=dollars(sum(known.values())), note=note)


def _leading(domain: Domain, report: DomainReport) -> Iterator[tuple[Metric, Interval]]:
    if domain.success and report.success_rate:
        yield domain.success, report.success_rate
    yield metric_of(domain, report.lead), report.value
    fallback = domain.fallback
    if fallback and fallback.name != report.lead and fallback.name in report.metrics:
        yield fallback, report.metrics[fallback.name]


def _notes(domain: Domain, report: DomainReport) -> Iterator[tuple[str, str]]:
    """Yield remarks on the scores, each as a heading and its text."""
    if not report.scored:
        nothing = nothing_scored(report)
        yield sentence(nothing.label), f"{nothing.value} {nothing.note}"
        return
    if leads_with_fallback(domain, report):
        yield f"No {domain.primary.label}", domain.primary.lacking
    for each in report.notes if report.outcomes else ():
        yield count(each.count, "dialogue"), each.reason


def _figures(domain: Domain, report: DomainReport) -> Iterator[Figure]:
    tenths = [str(10 * n) for n in range(len(report.distribution))]
    turns = [str(n) for n in range(1, len(report.turns.distribution) + 1)]
    name = sentence(metric_label(domain, report.lead))
    caption = "Dialogues by score in %, rounded to tens"
    yield _histogram(name, "%", caption, tenths, report.distribution)
    caption = "Dialogues by number of turns, without those that ended in a failure"
    yield _histogram("Turns", "turns", caption, turns, report.turns.distribution)


def _curve(domain: Domain, report: DomainReport) -> Iterator[Figure]:
    """Yield a figure of the scores by turn; nothing if all scores and shares of answered dialogues are 0 or unknown."""
    name, values = curve(domain, report)
    if not any(
        each.mean or answered for each, answered in zip(values, _answers(report), strict=False)
    ):
        return
    turns = [str(n) for n in range(1, len(values) + 1)]
    answers = _answers(report)
    title = f"{sentence(name)} by turn"
    rows = [
        Row(turn, (Cell(percent(v.mean)), Cell(percent_range(v)), Cell(percent(answered))))
        for turn, v, answered in zip(turns, values, answers, strict=True)
    ]
    caption = "% of scored dialogues that had succeeded or answered by a turn"
    if not domain.success:
        caption = f"Mean score, in %, of the last {domain.noun} shown; 0 before the first"
    yield Figure(
        title=title,
        caption=caption,
        chart=curve_chart(
            title,
            [
                *_answered(domain, answers),
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
            caption=title, heads=("Turn", sentence(name), "95% interval", "Answered"), rows=rows
        ),
    )


def _answers(report: DomainReport) -> list[float | None]:
    return [each.answered for each in report.by_turn]


def _answered(domain: Domain, shares: Sequence[float | None]) -> Iterator[Curve]:
    """Yield the share of dialogues in which the agent had answered by each turn.

    Yield nothing if the domain does not define success.
    """
    if domain.success:
        yield Curve(
            title="answered",
            name=f"answered {whole_percent(shares[-1])}",
            shares=[share or 0 for share in shares],
            emphasis="reference",
        )


def _histogram(
    name: str, unit: str, caption: str, labels: Sequence[str], counts: Sequence[int]
) -> Figure:
    rows = [Row(label, [Cell(f"{n:,}")]) for label, n in zip(labels, counts, strict=True)]
    return Figure(
        title=name,
        caption=caption,
        chart=bar_chart(name, labels, counts, unit),
        table=Table(caption=name, heads=(sentence(unit), "Dialogues"), rows=rows),
    )
