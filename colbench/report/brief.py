"""The summary printed after a run: the most important facts, in one or two lines each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from textwrap import shorten, wrap

from colbench.command import printable
from colbench.domain import Domain
from colbench.numbers import (
    NOTHING,
    count,
    dollars,
    duration,
    measure,
    number,
    percent,
    percent_range,
    short,
)
from colbench.report.fact import Fact
from colbench.report.facts import (
    dialogue_time,
    differs,
    further_metrics,
    leads_with_fallback,
    not_counted,
    not_judged,
    nothing_scored,
    share,
)
from colbench.report.failed_facts import frequent_error, rarely_asked, rarest
from colbench.report.model import AskingReport, DomainReport
from colbench.report.verdicts import metric_label, metric_of
from colbench.stats import Interval

SEEN = 0.05
"""Smallest mean to show; a smaller one would be rounded to 0.0."""
RAREST = 2
"""Maximum number of rarely asked decisions to name."""
LABEL, NOTE = 20, 43
"""Maximum widths of a label and of a line of a note, in terminal columns."""
TOGETHER = 28
"""Length up to which a part of a note is kept on one line; a part ends at a comma or semicolon."""
PARTS, NO_BREAK = re.compile(r"(?<=[,;]) "), "\N{NO-BREAK SPACE}"
NOTE_LINES = 2
"""Maximum number of lines in a note."""
MORE = " …"
"""End of a note that was cut."""


def brief(domain: Domain, report: DomainReport, lines: int) -> list[Fact]:
    """Return the most important facts about a domain: scores, asking, failures, effort.

    The facts' notes are wrapped. The facts take at most `lines` lines: the first fact that does not fit is left out,
    together with all less important facts.
    """
    facts: list[Fact] = []
    for fact in _all(domain, report):
        note = _wrapped(fact.note)
        lines -= max(len(note), 1)
        if lines < 0:
            break
        facts.append(Fact(label=_cut(fact.label), value=fact.value, note="\n".join(note)))
    return facts


def _all(domain: Domain, report: DomainReport) -> Iterator[Fact]:
    yield from _scores(domain, report)
    yield from _asking(report.asking)
    yield from _followed(report)
    yield from _failed(report)
    yield from not_judged(domain, report)
    yield from _rarely_asked(report.asking)
    yield from _effort(report)
    yield from _leaks(report)


def _wrapped(note: str) -> list[str]:
    """Return the lines of a wrapped note, cutting words longer than a line and notes of too many lines."""
    words = (_cut(word, NOTE - len(MORE)) for word in printable(note).split())
    parts = PARTS.split(" ".join(words))
    bound = (p.replace(" ", NO_BREAK) if len(p) <= TOGETHER else p for p in parts)
    found = wrap(" ".join(bound), NOTE, break_long_words=False, break_on_hyphens=False)
    if len(found) > NOTE_LINES:
        last = shorten(" ".join(found[NOTE_LINES - 1 :]), NOTE, placeholder=MORE)
        found = [*found[: NOTE_LINES - 1], last]
    return [line.replace(NO_BREAK, " ") for line in found]


def _cut(text: str, width: int = LABEL) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _scores(domain: Domain, report: DomainReport) -> Iterator[Fact]:
    if not report.scored:
        yield nothing_scored(report)
        return
    ceiling = report.ceiling
    if domain.success and report.success_rate:
        yield _with_ceiling(
            domain.success.label,
            report.success_rate,
            ceiling.success_rate if ceiling else None,
        )
    label = metric_label(domain, report.lead)
    yield _with_ceiling(label, report.value, ceiling.value if ceiling else None)
    if leads_with_fallback(domain, report):
        lacking = domain.primary.lacking.partition(";")[0]
        yield Fact(label=domain.primary.label, value=NOTHING, note=lacking)
    metrics = ((metric_of(domain, name), mean) for name, mean in _further(domain, report))
    others = [f"{metric.label} {measure(mean.mean, metric.unit)}" for metric, mean in metrics]
    if others:
        yield Fact(label="further", value="", note=", ".join(others))
    delta = report.delta
    if delta and differs(report):
        other = delta.mode if report.mode == delta.base else delta.base
        mean = report.modes[other].value.mean
        note = f"{label}; {delta.differing:,} of {count(delta.cells, 'verdict')} differ"
        yield Fact(label=f"{other} scoring", value=percent(mean), note=note)
    if report.win_rate:
        yield share(f"wins over {report.win_rate.agent or 'the baseline'}", report.win_rate.rate)


def _with_ceiling(label: str, interval: Interval, told: Interval | None) -> Fact:
    ceiling = f"; told everything {percent(told.mean)}" if told else ""
    note = f"{percent_range(interval)}{ceiling}"
    return Fact(label=label, value=percent(interval.mean), note=note)


def _further(domain: Domain, report: DomainReport) -> Iterable[tuple[str, Interval]]:
    return further_metrics(domain, report).items()


def _asking(asking: AskingReport | None) -> Iterator[Fact]:
    if asking is None:
        return
    found = {name: interval.mean for name, interval in asking.metrics.items()}
    estimated = ", estimated" if asking.estimated else ""
    if found["ask_f1"] is not None:
        precision = percent(found["ask_precision"])
        note = f"precision {precision}, recall {percent(found['ask_recall'])}"
        note = note if found["questions"] else "the agent asked nothing"
        yield Fact(label=f"ask F1{estimated}", value=percent(found["ask_f1"]), note=note)
    if found["questions"]:
        named = {
            "at least {} needed": "needed_questions",
            "{} redundant": "redundant_questions",
            "{} unanswerable": "unanswerable_questions",
            "{} late": "late_questions",
        }
        counts = (
            words.format(number(value))
            for words, key in named.items()
            if (value := found[key]) and value >= SEEN
        )
        yield Fact(label="questions", value=number(found["questions"]), note=", ".join(counts))


def _rarely_asked(asking: AskingReport | None) -> Iterator[Fact]:
    rare = rarely_asked(asking)
    if rare and asking and asking.metrics["questions"].mean:
        yield rarest(rare[:RAREST])


def _followed(report: DomainReport) -> Iterator[Fact]:
    if report.followed is None:
        return
    found = report.followed.metrics
    kept, worse = (percent(found[f"differences_{name}"].mean) for name in ("kept", "worse"))
    note = f"of the differences the human pointed out; {kept} kept, {worse} made worse"
    yield Fact(
        label="fixed on next page", value=percent(found["differences_fixed"].mean), note=note
    )


def _failed(report: DomainReport) -> Iterator[Fact]:
    classes = report.failed.classes if report.failed else {}
    if classes:
        yield Fact(label="failed", value=f"{sum(classes.values()):,}", note=_classes(classes))
    yield from frequent_error(report)
    if report.unscored:
        note = f"of {count(report.cells, 'dialogue')}"
        yield Fact(label="unscored", value=f"{report.unscored:,}", note=note)
    for boundary, failures in report.failures.items():
        reason = failures.reasons[0].reason
        yield Fact(label=f"{boundary} failed", value=f"{failures.count:,}", note=reason)


def _classes(classes: Mapping[str, int]) -> str:
    """Return the number of failed dialogues in each class, the most frequent class first."""
    ordered = sorted(classes, key=lambda name: -classes[name])
    counts = ["all"] if len(ordered) == 1 else [f"{classes[name]:,}" for name in ordered]
    named = zip(counts, ordered, strict=True)
    return ", ".join(f"{number} {name.replace('_', ' ')}" for number, name in named)


def _effort(report: DomainReport) -> Iterator[Fact]:
    words = report.words
    if report.turns.mean.mean is not None:
        wrote, read = number(words.human.mean), number(words.agent.mean)
        note = f"the human wrote {wrote} words and read {read}" if words.human.mean else ""
        yield Fact(label="turns", value=number(report.turns.mean.mean), note=note)
    for role, used in report.tokens.items():
        if used:
            price = getattr(report.cost, role)
            cost = f"; {dollars(price)}" if price is not None else ""
            note = f"{short(used.prompt)} in, {short(used.completion)} out{cost}"
            note += not_counted(used.uncounted)
            value = short(used.prompt + used.completion)
            yield Fact(label=f"{role} tokens", value=value, note=note)
    if waited := [each for each in report.replies.values() if each.waited >= 1]:
        yield _waits(sum(each.retries for each in waited), sum(each.waited for each in waited))
    yield dialogue_time(report)


def _waits(retries: int, seconds: float) -> Fact:
    note = f"for model servers, summed over dialogues; {count(retries, 'request')} repeated"
    return Fact(label="waited", value=duration(seconds), note=note)


def _leaks(report: DomainReport) -> Iterator[Fact]:
    leaks = report.leaks
    if leaks and any(each.max for each in (leaks.identifiers, leaks.literals, leaks.ngrams)):
        shares = {
            "identifiers": leaks.identifiers.mean,
            "literals": leaks.literals.mean,
            "n-grams": leaks.ngrams.mean,
        }
        most, *others = sorted(shares, key=lambda name: -shares[name])
        rest = ", ".join(f"{name} {percent(shares[name])}" for name in others)
        note = f"of the reference's {most}, unasked; {rest}"
        yield Fact(label="leaked by human", value=percent(shares[most]), note=note)
