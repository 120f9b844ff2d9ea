"""The visible parts of the page that need no script."""

from __future__ import annotations

from collections.abc import Iterator

from colbench.numbers import (
    count,
    number,
    number_range,
    percent,
    percent_range,
    sentence,
)
from colbench.report import charts
from colbench.report.facts import LACKING, Section, curve_name, sections, value_name
from colbench.report.markup import Safe, element, join, table
from colbench.report.model import DomainReport, RunReport
from colbench.run_folder import RunRecord
from colbench.stats import Interval

ABOVE = {"Scores", "Floors", "Notes on scores"}
"""Sections that are shown above the others, in other forms."""
CURVES = {
    "answers": "% of dialogues that had answered by a turn",
    "pages": "% of the page shown last, 0 while there is none",
}


def headline(domain: DomainReport) -> Safe:
    """The numbers to remember."""
    tiles = [
        *(_rate(name, interval, "lead") for name, interval in _leading(domain)),
        _tile("Turns", number(domain.turns.mean.mean), number_range(domain.turns.mean)),
        _tile("Human words", number(domain.words.human.mean), number_range(domain.words.human)),
    ]
    if domain.unscored:
        note = f"of {domain.cells:,}; left out of the rates"
        tiles.append(_tile("Unscored", f"{domain.unscored:,}", note, class_="tile warn"))
    return element("div", *tiles, class_="tiles")


def _leading(domain: DomainReport) -> Iterator[tuple[str, Interval]]:
    if domain.lead == "tests_passed":
        yield "Success rate", domain.success_rate
    yield value_name(domain).capitalize(), domain.value
    if domain.win_rate:
        yield "Win rate", domain.win_rate.rate
    elif domain.lead != "layout" and "layout" in domain.metrics:
        yield "Layout", domain.metrics["layout"]


def _rate(label: str, interval: Interval, kind: str) -> Safe:
    note = join([percent_range(interval), _whisker(interval)])
    return _tile(label, percent(interval.mean), note, class_=f"tile {kind}")


def _tile(label: str, value: str, note: str, class_: str = "tile") -> Safe:
    parts = (
        element("p", label, class_="label"),
        element("p", value, class_="value"),
        element("p", note, class_="note"),
    )
    return element("div", *parts, class_=class_)


def _whisker(interval: Interval) -> Safe:
    """The interval on a scale from 0 to 1."""
    if interval.mean is None or interval.low is None or interval.high is None:
        return Safe()
    low, mean, high = (
        round(min(max(each, 0), 1) * 100, 1)
        for each in (interval.low, interval.mean, interval.high)
    )
    return element(
        "svg",
        element("rect", x=0, y=3, width=100, height=2, class_="scale"),
        element("rect", x=low, y=2, width=max(high - low, 0.6), height=4, class_="range"),
        element("rect", x=mean - 0.4, y=0, width=0.8, height=8, class_="mean"),
        viewBox="0 0 100 8",
        preserveAspectRatio="none",
        aria_hidden="true",
        class_="whisker",
    )


def notes(domain: DomainReport) -> Safe:
    """What the verdicts say beside their numbers."""
    said = [(count(each.count, "dialogue"), each.reason) for each in domain.notes]
    if domain.lead == "layout":
        said.insert(0, ("No cosine", LACKING))
    shown = (element("p", element("b", what), f": {why}", class_="panel") for what, why in said)
    return element("div", *shown, class_="notes") if said else Safe()


def figures(domain: DomainReport) -> Safe:
    """The charts, each with its table."""
    tenths = [str(10 * n) for n in range(len(domain.distribution))]
    turns = [str(n) for n in range(1, len(domain.turns.distribution) + 1)]
    name = value_name(domain).capitalize()
    drawn = (
        *_curve(domain),
        _histogram(
            name, "%", "Dialogues by score in %, rounded to tens", tenths, domain.distribution
        ),
        _histogram(
            "Turns", "turns", "Whole dialogues by number of turns", turns, domain.turns.distribution
        ),
    )
    return element("div", *drawn, class_="figures")


def _curve(domain: DomainReport) -> Iterator[Safe]:
    """The scores by turn, where they are known."""
    curve = [
        (str(b.turn), percent(b.score.mean), percent_range(b.score), percent(b.answered))
        for b in domain.by_turn
    ]
    if name := curve_name(domain):
        heading = f"{sentence(name)} by turn"
        heads = ("Turn", name.capitalize(), "95 % interval", "Answered")
        caption = CURVES["pages" if domain.by_turn[0].value else "answers"]
        chart = charts.by_turn(name, domain.by_turn)
        yield _figure(heading, caption, chart, table(heading, heads, curve))


def _histogram(
    name: str, unit: str, caption: str, labels: list[str], counts: tuple[int, ...]
) -> Safe:
    rows = [(label, f"{amount:,}") for label, amount in zip(labels, counts, strict=True)]
    chart = charts.bars(name, labels, counts, unit)
    return _figure(name, caption, chart, table(name, (unit.capitalize(), "Dialogues"), rows))


def _figure(name: str, caption: str, chart: Safe, numbers: Safe) -> Safe:
    head = element("figcaption", element("h3", name), element("p", caption))
    behind = element("details", element("summary", "Numbers"), numbers)
    return element("figure", head, chart, behind, class_="panel")


def details(domain: DomainReport) -> Safe:
    """How the dialogues went, what leaked, what was spent, what failed."""
    shown = [each for each in sections(domain) if each.title not in ABOVE]
    return element("div", *map(_section, shown), class_="panels")


def _section(section: Section) -> Safe:
    rows = [
        element(
            "tr",
            element("th", fact.label, scope="row"),
            element("td", fact.value, class_="amount"),
            element("td", fact.note, class_="note"),
        )
        for fact in section.facts
    ]
    return element(
        "div",
        element(
            "table",
            element("caption", section.title),
            *_heads(section),
            element("tbody", *rows),
            class_="facts",
        ),
        class_="panel",
    )


def _heads(section: Section) -> list[Safe]:
    if not any(section.heads):
        return []
    heads = (element("th", head, scope="col") for head in section.heads)
    return [element("thead", element("tr", element("td"), *heads))]


def identity(report: RunReport, record: RunRecord) -> Safe:
    """Everything that pins the run."""
    rows = [
        ("Agent", _resolved(report.agent, record.pins.get("agent"))),
        ("Human", _resolved(report.human, record.pins.get("human"))),
        (
            "Tasks",
            _resolved(report.tasks, {"count": record.tasks.count, "sha256": record.tasks.hash}),
        ),
        ("Dialogues", f"at most {count(report.max_turns, 'turn')}; seed {report.seed}"),
        *(
            (name, environment)
            for name, environment in (
                ("Sandbox", record.sandbox),
                *((f"Tools, {name}", each) for name, each in record.environments.items()),
            )
            if environment
        ),
        ("Harness", _harness(record)),
        ("Started", record.started.replace("T", " ").replace("+00:00", " UTC")),
        ("Configuration", record.digest),
    ]
    return element("div", table("What was run", ("Pin", "Value"), rows), class_="panel identity")


def _resolved(given: str, resolved: dict[str, object] | None) -> Safe:
    pairs = (
        f"{key}: {value}" for key, value in (resolved or {}).items() if value not in ("", None)
    )
    return join([element("code", given), *(element("span", pair, class_="pin") for pair in pairs)])


def _harness(record: RunRecord) -> str:
    commit = f", commit {record.commit}" if record.commit else ""
    return f"ColBench {record.colbench}{commit}; Python {record.python}; {record.platform}"
