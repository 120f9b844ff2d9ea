"""What is printed after a run: at most a screen of facts, each of which says something."""

from __future__ import annotations

from collections.abc import Iterator

from colbench.domain import Domain
from colbench.numbers import (
    count,
    dollars,
    duration,
    measure,
    number,
    percent,
    percent_range,
    short,
)
from colbench.report.facts import Fact, further_metrics, leads_with_fallback, share
from colbench.report.model import DomainReport
from colbench.report.verdicts import metric_label, metric_of

RAREST = 3
"""Decisions that are named as asked for most rarely."""
REASON = 60
"""Characters of the most frequent reason of failures."""


def brief(domain: Domain, report: DomainReport) -> list[Fact]:
    """Return the facts to know first about a domain: the scores, the asking, what failed, what it took."""
    return [
        *_scores(domain, report),
        *_asking(report),
        *_failed(report),
        *_effort(report),
        *_leaks(report),
    ]


def _scores(domain: Domain, report: DomainReport) -> Iterator[Fact]:
    if domain.success and report.success_rate:
        yield share(domain.success.label, report.success_rate)
    yield share(metric_label(domain, report.lead), report.value)
    if leads_with_fallback(domain, report):
        yield Fact(label=domain.primary.label, value="–", note=domain.primary.lacking)
    others = [
        f"{metric_of(domain, name).label} {measure(mean.mean, metric_of(domain, name).unit)}"
        for name, mean in further_metrics(domain, report).items()
    ]
    if others:
        yield Fact(label="further", value="", note=", ".join(others))
    delta = report.delta
    if delta and delta.differing:
        other = report.modes[delta.mode if report.mode == delta.base else delta.base]
        yield share(f"{metric_label(domain, report.lead)}, {delta.mode}", other.value)
    if report.ceiling:
        told, own = report.ceiling.value, report.ceiling.own_value
        note = f"{percent_range(told)}; {percent(own.mean)} when it has to ask"
        yield Fact(label="all told", value=percent(told.mean), note=note)
    if report.win_rate:
        yield share(f"wins over {report.win_rate.agent or 'the baseline'}", report.win_rate.rate)


def _asking(report: DomainReport) -> Iterator[Fact]:
    asking = report.asking
    if asking is None:
        return
    found = {name: interval.mean for name, interval in asking.metrics.items()}
    if found["ask_f1"] is not None:
        estimated = ", estimated" if asking.estimated else ""
        parts = (
            f"precision {percent(found['ask_precision'])}, recall {percent(found['ask_recall'])}"
        )
        asked = (
            f"{number(found['questions'])} questions, {number(found['needed_questions'])} needed"
        )
        value = percent(found["ask_f1"])
        yield Fact(label=f"ask F1{estimated}", value=value, note=f"{parts}; {asked}")
    rare = [row for row in asking.decisions if row.asked < row.hidden][:RAREST]
    if rare:
        named = (f"{row.family} {row.decision} {row.asked} of {row.hidden}" for row in rare)
        yield Fact(label="asked most rarely", value="", note=", ".join(named))


def _failed(report: DomainReport) -> Iterator[Fact]:
    classes = report.failed.classes if report.failed else {}
    if classes:
        note = ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in classes.items())
        yield Fact(label="failed", value=f"{sum(classes.values()):,}", note=note)
    for boundary, failures in report.failures.items():
        reason = failures.reasons[0].reason
        shown = reason if len(reason) <= REASON else f"{reason[:REASON]}…"
        yield Fact(label=f"{boundary} failed", value=f"{failures.count:,}", note=shown)
    if report.unscored:
        note = f"of {count(report.cells, 'dialogue')}; left out of all numbers"
        yield Fact(label="unscored", value=f"{report.unscored:,}", note=note)


def _effort(report: DomainReport) -> Iterator[Fact]:
    words = report.words
    if report.turns.mean.mean is not None:
        note = (
            f"the human wrote {number(words.human.mean)} words and read {number(words.agent.mean)}"
        )
        yield Fact(label="turns", value=number(report.turns.mean.mean), note=note)
    for role, used in report.tokens.items():
        if used:
            price = getattr(report.cost, role)
            cost = f"; {dollars(price)}" if price is not None else ""
            note = f"{short(used.prompt)} in, {short(used.completion)} out{cost}"
            value = short(used.prompt + used.completion)
            yield Fact(label=f"{role} tokens", value=value, note=note)
    yield Fact(label="time", value=duration(report.wall_seconds), note="")


def _leaks(report: DomainReport) -> Iterator[Fact]:
    leaks = report.leaks
    if leaks and any(each.max for each in (leaks.identifiers, leaks.literals, leaks.ngrams)):
        shares = {"names": leaks.identifiers, "literals": leaks.literals, "code": leaks.ngrams}
        note = ", ".join(f"{name} {percent(each.mean)}" for name, each in shares.items())
        yield Fact(label="human gave away", value="", note=f"unasked: {note}")
