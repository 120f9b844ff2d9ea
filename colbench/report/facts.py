"""The report in words: sections of facts, which the terminal and the page both show."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from colbench.numbers import (
    NOTHING,
    count,
    dollars,
    duration,
    number,
    number_range,
    percent,
    percent_range,
    points,
    points_range,
    short,
)
from colbench.report.model import DomainReport, LeakShare, Rates, Tokens, WinRate
from colbench.stats import Interval

FEW_TASKS = 30
"""Below this many tasks a percentile bootstrap interval is too narrow; the report says so."""

NAMES = {
    "tests_passed": "tests passed",
    "cosine_page": "cosine, whole page",
    "ssim": "SSIM",
    "block": "blocks",
    "color": "colour",
}
"""Measures whose name is not a word to show."""
FLOOR_HEADS = ("another target", "other floors")
LACKING = "needs CLIP's weights; `colbench score RUN` adds it without running anything again"
"""Of the cosine, where the layout leads."""


class Fact(Struct, frozen=True, kw_only=True):
    """One line: what it is, the number, and what there is to say about it."""

    label: str
    value: str
    note: str = ""


class Section(Struct, frozen=True, kw_only=True):
    """Facts that belong together."""

    title: str
    facts: tuple[Fact, ...]
    heads: tuple[str, str] = ("", "")
    """Over the numbers and the notes."""


def sections(domain: DomainReport) -> list[Section]:
    """Everything about a domain, in the order of reading; empty sections are left out."""
    listed = [
        Section(title="Scores", heads=("mean", "95 % interval"), facts=tuple(_scores(domain))),
        Section(title="Notes on scores", facts=tuple(_notes(domain))),
        Section(title="Floors", heads=FLOOR_HEADS, facts=tuple(_floors(domain))),
        Section(title="Win rate", facts=tuple(_wins(domain.win_rate, domain.tasks))),
        Section(title="Dialogues", facts=tuple(_dialogues(domain))),
        Section(title="Leak audit", heads=("mean", "maximum"), facts=tuple(_leaks(domain))),
        Section(title="Spending", facts=tuple(_spending(domain))),
        Section(title="Failures", facts=tuple(_failures(domain))),
    ]
    return [section for section in listed if section.facts]


def value_name(rates: Rates) -> str:
    """What the domain calls its mean score."""
    return measure_name(rates.lead)


def measure_name(measure: str) -> str:
    """A measure in words."""
    return NAMES.get(measure, measure)


def share(label: str, interval: Interval) -> Fact:
    """A rate with its interval."""
    return Fact(label=label, value=percent(interval.mean), note=percent_range(interval))


def _scores(domain: DomainReport) -> Iterator[Fact]:
    yield from _rates(domain)
    if domain.lead == "layout":
        yield Fact(label="cosine", value=NOTHING, note=LACKING)
    for name, mean in domain.metrics.items():
        if name != domain.lead:
            yield share(measure_name(name), mean)
    for each in domain.pass_k[1:]:
        yield share(f"pass^{each.k}", each.rate)
    if domain.unscored_as_zero:
        yield Fact(
            label="unscored",
            value=f"{domain.unscored:,}",
            note=f"of {count(domain.cells, 'dialogue')}; the numbers above leave them out",
        )
        yield from _rates(domain.unscored_as_zero, ", as 0")
    for mode, report in domain.modes.items():
        if mode != domain.mode:
            yield from _rates(report, f", {mode}")
            rest = {n: mean for n, mean in report.metrics.items() if n not in domain.metrics}
            for name, mean in rest.items():
                yield share(f"{measure_name(name)}, {mode}", mean)
    yield from _delta(domain)
    yield from _by_turn(domain)
    for scorer, verdicts in domain.scorers.items():
        yield Fact(label="scored by", value=f"{verdicts:,} x", note=scorer)
    if 0 < domain.tasks < FEW_TASKS:
        few = f"fewer than {FEW_TASKS}: the intervals are rough"
        yield Fact(label="tasks", value=f"{domain.tasks}", note=few)


def _rates(rates: Rates, suffix: str = "") -> Iterator[Fact]:
    if rates.lead == "tests_passed":
        yield share(f"success rate{suffix}", rates.success_rate)
    yield share(f"{value_name(rates)}{suffix}", rates.value)


def curve_name(domain: DomainReport) -> str:
    """What is shown turn by turn; empty when there is nothing to show."""
    if domain.lead == "tests_passed":
        return "success"
    return value_name(domain) if domain.by_turn[-1].value else ""


def _by_turn(domain: DomainReport) -> Iterator[Fact]:
    curve = " ".join(
        NOTHING if each.score.mean is None else f"{each.score.mean * 100:.0f}"
        for each in domain.by_turn
    )
    if name := curve_name(domain):
        turns = f"1 to {len(domain.by_turn)}"
        yield Fact(label=f"{name} by turn", value=turns, note=f"{curve} %")


def _delta(domain: DomainReport) -> Iterator[Fact]:
    delta = domain.delta
    if delta is None:
        return
    label = f"{delta.mode} − {delta.base}"
    if domain.lead == "tests_passed":
        yield Fact(
            label=f"{label}, success",
            value=points(delta.success_rate.mean),
            note=points_range(delta.success_rate),
        )
    differing = f"{delta.differing:,} of {count(delta.cells, 'verdict')} differ"
    yield Fact(
        label=f"{label}, {'tests' if domain.lead == 'tests_passed' else value_name(domain)}",
        value=points(delta.value.mean),
        note=f"{points_range(delta.value)}; {differing}",
    )


def _floors(domain: DomainReport) -> Iterator[Fact]:
    for name in dict.fromkeys(name for metrics in domain.floors.values() for name in metrics):
        found = {page: metrics.get(name) for page, metrics in domain.floors.items()}
        rest = (f"{page} {percent(share)}" for page, share in found.items() if page != "other")
        value = percent(found.get("other"))
        yield Fact(label=measure_name(name), value=value, note=", ".join(rest))


def _wins(wins: WinRate | None, tasks: int) -> Iterator[Fact]:
    if wins is None:
        return
    yield share(f"higher {measure_name(wins.measure)}", wins.rate)
    ties = (
        f"of {tasks:,}; no more than {wins.epsilon * 100:g} points apart is a tie and counts half"
    )
    yield Fact(label="tasks compared", value=f"{wins.tasks:,}", note=ties)
    yield Fact(label="baseline", value=wins.agent or NOTHING, note=wins.baseline)
    if wins.note:
        yield Fact(label="take care", value="", note=wins.note)


def _notes(domain: DomainReport) -> Iterator[Fact]:
    for each in domain.notes:
        yield Fact(label="dialogues", value=f"{each.count:,}", note=each.reason)


def _dialogues(domain: DomainReport) -> Iterator[Fact]:
    turns, words = domain.turns.mean, domain.words
    yield Fact(label="turns", value=number(turns.mean), note=number_range(turns))
    yield Fact(label="human words", value=number(words.human.mean), note=number_range(words.human))
    yield Fact(label="agent words", value=number(words.agent.mean), note=number_range(words.agent))
    ended = domain.ended_by
    note = f"by the turn limit {ended['limit']:,}, by a failure {ended['failure']:,}"
    yield Fact(label="ended by an answer", value=f"{ended['answer']:,}", note=note)


def _leaks(domain: DomainReport) -> Iterator[Fact]:
    if domain.leaks:
        yield _leak("identifiers", domain.leaks.identifiers)
        yield _leak("literals", domain.leaks.literals)
        yield _leak("n-grams", domain.leaks.ngrams)


def _leak(label: str, leak: LeakShare) -> Fact:
    return Fact(label=label, value=percent(leak.mean), note=percent(leak.max))


def _spending(domain: DomainReport) -> Iterator[Fact]:
    yield _tokens("agent tokens", domain.tokens["agent"], domain.cost.agent)
    yield _tokens("human tokens", domain.tokens["human"], domain.cost.human)
    yield Fact(label="wall time", value=duration(domain.wall_seconds))


def _tokens(label: str, used: Tokens | None, cost: float | None) -> Fact:
    if used is None:
        return Fact(label=label, value="not counted", note="no model server gave a count")
    price = f"{dollars(cost)}" if cost is not None else "price unknown"
    lacking = f"; {count(used.uncounted, 'reply', 'replies')} not counted" if used.uncounted else ""
    return Fact(
        label=label,
        value=short(used.prompt + used.completion),
        note=f"{short(used.prompt)} in, {short(used.completion)} out; {price}{lacking}",
    )


def _failures(domain: DomainReport) -> Iterator[Fact]:
    backend = domain.lead == "tests_passed"
    if not (domain.failures or domain.unjudged or domain.missing):
        yield Fact(label="none", value="0")
    for boundary, failures in domain.failures.items():
        reasons = "; ".join(f"{r.reason[:120]} ({r.count:,})" for r in failures.reasons)
        yield Fact(label=boundary, value=f"{failures.count:,}", note=reasons)
    if domain.unjudged:
        lacking = "test could be counted" if backend else "target could be compared with"
        note = f"nothing failed, but no {lacking}"
        yield Fact(label="not judged", value=f"{domain.unjudged:,}", note=note)
    if domain.missing:
        yield Fact(label="not begun", value=f"{domain.missing:,}", note="no rollout yet")
