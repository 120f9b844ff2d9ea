"""The report in words: sections of facts, which both the terminal and the page show."""

from __future__ import annotations

from collections.abc import Iterator

from colbench.asking.measures import FOLLOWED, MEASURES
from colbench.domain import Domain, Metric
from colbench.numbers import (
    NOTHING,
    count,
    dollars,
    duration,
    measure,
    measure_range,
    number,
    number_range,
    percent,
    percent_range,
    points,
    points_range,
    short,
)
from colbench.report.fact import Fact, Section
from colbench.report.failed_facts import failed
from colbench.report.model import (
    AskingReport,
    DomainReport,
    FollowedReport,
    LeakShare,
    Rates,
    Replies,
    Tokens,
    WinRate,
)
from colbench.report.verdicts import metric_label, metric_of
from colbench.stats import Interval

FEW_TASKS = 30
"""Number of scored tasks below which a percentile bootstrap interval is too narrow; the report then says so."""


def sections(domain: Domain, report: DomainReport) -> list[Section]:
    """Return the report's sections about a domain in reading order; empty sections are left out."""
    floors = list(report.floors)
    heads = (domain.floors.get(floors[0], floors[0]), "other floors") if floors else ("", "")
    listed = [
        Section(
            title="Scores", heads=("mean", "95% interval"), facts=tuple(_scores(domain, report))
        ),
        Section(title="Notes on scores", facts=tuple(_notes(report))),
        Section(title="Floors", heads=heads, facts=tuple(_floors(domain, report))),
        Section(title="Win rate", facts=tuple(_wins(domain, report.win_rate, report.tasks))),
        Section(title="Dialogues", facts=tuple(_dialogues(report))),
        Section(
            title="Asking", heads=("mean", "95% interval"), facts=tuple(_asking(report.asking))
        ),
        Section(
            title="Differences pointed out",
            heads=("mean", "95% interval"),
            facts=tuple(_followed(report.followed)),
        ),
        Section(title="Failed dialogues", facts=tuple(failed(report))),
        Section(title="Replies of model servers", facts=tuple(_replies(report))),
        Section(title="Leak audit", heads=("mean", "maximum"), facts=tuple(_leaks(report))),
        Section(title="Spending", facts=tuple(_spending(report))),
        Section(title="Errors", facts=tuple(_failures(domain, report))),
    ]
    return [section for section in listed if section.facts]


def grid_size(report: DomainReport) -> str:
    """Return the numbers of tasks and trials. For a shard that lacks some trials, count tasks and dialogues instead."""
    if report.cells < report.tasks * report.trials:
        return f"{count(report.tasks, 'task')}, {count(report.cells, 'dialogue')}"
    return f"{count(report.tasks, 'task')}, {count(report.trials, 'trial')} each"


def share(label: str, interval: Interval) -> Fact:
    """Return the fact that consists of a rate and its interval."""
    return Fact(label=label, value=percent(interval.mean), note=percent_range(interval))


def measured(metric: Metric, interval: Interval, suffix: str = "") -> Fact:
    """Return the fact that consists of a metric's mean and interval, in the metric's unit.

    `suffix`: text to add to the metric's label.
    """
    note = measure_range(interval, metric.unit)
    if metric.direction == "lower":
        note += "; lower is better"
    value = measure(interval.mean, metric.unit)
    return Fact(label=f"{metric.label}{suffix}", value=value, note=note, hint=metric.description)


def leads_with_fallback(domain: Domain, report: DomainReport) -> bool:
    """Return True if the report leads with the fallback metric, because answers lack the primary metric."""
    return domain.fallback is not None and report.lead == domain.fallback.name


def further_metrics(domain: Domain, report: DomainReport) -> dict[str, Interval]:
    """Return the means of the measured metrics other than the leading one and success, by name."""
    shown = {report.lead, domain.success and domain.success.name}
    return {name: mean for name, mean in report.metrics.items() if name not in shown}


def nothing_scored(report: DomainReport) -> Fact:
    """Return the fact shown in the report of a run that has no scores yet."""
    begun = "" if report.missing < report.cells else "; no dialogue is finished yet"
    return Fact(label="scored", value="0", note=f"of {count(report.cells, 'dialogue')}{begun}")


def _scores(domain: Domain, report: DomainReport) -> Iterator[Fact]:
    if not report.scored:
        yield nothing_scored(report)
        return
    yield from _rates(domain, report.lead, report)
    if leads_with_fallback(domain, report):
        yield Fact(label=domain.primary.label, value=NOTHING, note=domain.primary.lacking)
    for name, mean in further_metrics(domain, report).items():
        yield measured(metric_of(domain, name), mean)
    for each in report.pass_k[1:]:
        yield share(f"pass^{each.k}", each.rate)
    if report.unscored_as_zero:
        yield Fact(
            label="unscored",
            value=f"{report.unscored:,}",
            note=f"of {count(report.cells, 'dialogue')}; the numbers above leave them out",
        )
        yield from _rates(domain, report.lead, report.unscored_as_zero, ", unscored as 0")
    yield from _other_modes(domain, report)
    yield from _ceiling(domain, report)
    yield from _delta(domain, report)
    yield from _by_turn(domain, report)
    for scorer, verdicts in report.scorers.items():
        yield Fact(label="scored by", value=f"{verdicts:,} x", note=scorer)
    if has_few_tasks(report):
        few = f"fewer than {FEW_TASKS}: the intervals are rough"
        yield Fact(label="scored tasks", value=f"{report.scored_tasks}", note=few)


def has_few_tasks(report: DomainReport) -> bool:
    """Return True if some tasks, but fewer than `FEW_TASKS`, have a scored dialogue."""
    return 0 < (report.scored_tasks or 0) < FEW_TASKS


def _rates(domain: Domain, lead: str, rates: Rates, suffix: str = "") -> Iterator[Fact]:
    if domain.success and rates.success_rate:
        yield share(f"{domain.success.label}{suffix}", rates.success_rate)
    yield share(f"{metric_label(domain, lead)}{suffix}", rates.value)


def differs(report: DomainReport) -> bool:
    """Return True if the scoring modes differ in the value of an answer, or in the number of scored dialogues."""
    scored = {(found.scored, found.unscored) for found in report.modes.values()}
    return len(scored) > 1 or (report.delta is not None and report.delta.differing > 0)


def _other_modes(domain: Domain, report: DomainReport) -> Iterator[Fact]:
    if not differs(report):
        return
    for mode, found in report.modes.items():
        if mode != report.mode:
            yield from _rates(domain, report.lead, found, f", {mode}")
            for name, mean in found.metrics.items():
                if name not in report.metrics:
                    yield measured(metric_of(domain, name), mean, f", {mode}")


def curve(domain: Domain, report: DomainReport) -> tuple[str, list[Interval]]:
    """Return the name and the values of the curve by turn: success or, if it is not defined, the leading metric.

    Turns that were not scored are left out.
    """
    if domain.success:
        return domain.success.name, [b.success_rate for b in report.by_turn if b.success_rate]
    return metric_label(domain, report.lead), [b.value for b in report.by_turn if b.value]


def _by_turn(domain: Domain, report: DomainReport) -> Iterator[Fact]:
    name, values = curve(domain, report)
    shown = " ".join(NOTHING if each.mean is None else f"{each.mean * 100:.0f}" for each in values)
    if values:
        yield Fact(label=f"{name} by turn", value=f"1 to {len(values)}", note=f"{shown}%")


def _ceiling(domain: Domain, report: DomainReport) -> Iterator[Fact]:
    """Yield the agent's scores when told everything, each next to the agent's ordinary score on the same tasks."""
    ceiling = report.ceiling
    if ceiling is None:
        return
    pairs = [(metric_label(domain, report.lead), ceiling.value, ceiling.own_value)]
    if domain.success and ceiling.success_rate and ceiling.own_success_rate:
        pairs.insert(0, (domain.success.label, ceiling.success_rate, ceiling.own_success_rate))
    for label, told, own in pairs:
        note = (
            f"{percent_range(told)}; {percent(own.mean)} on the same {count(ceiling.tasks, 'task')}"
        )
        yield Fact(label=f"{label}, all told", value=percent(told.mean), note=note)


def _delta(domain: Domain, report: DomainReport) -> Iterator[Fact]:
    delta = report.delta
    if delta is None or not differs(report):
        return
    label = f"{delta.mode} − {delta.base}"
    if domain.success and delta.success_rate:
        yield Fact(
            label=f"{label}, {domain.success.name}",
            value=points(delta.success_rate.mean),
            note=points_range(delta.success_rate),
        )
    differing = f"{delta.differing:,} of {count(delta.cells, 'verdict')} differ"
    yield Fact(
        label=f"{label}, {metric_label(domain, report.lead).partition(' ')[0]}",
        value=points(delta.value.mean),
        note=f"{points_range(delta.value)}; {differing}",
    )


def _floors(domain: Domain, report: DomainReport) -> Iterator[Fact]:
    names = dict.fromkeys(name for metrics in report.floors.values() for name in metrics)
    others = list(report.floors)[1:]
    for name in names:
        metric = metric_of(domain, name)
        first, *rest = (measure(each.get(name), metric.unit) for each in report.floors.values())
        note = ", ".join(f"{floor} {value}" for floor, value in zip(others, rest, strict=True))
        yield Fact(label=metric.label, value=first, note=note)


def _wins(domain: Domain, wins: WinRate | None, tasks: int) -> Iterator[Fact]:
    if wins is None:
        return
    yield share(f"higher {metric_label(domain, wins.measure)}", wins.rate)
    ties = (
        f"of {tasks:,}; differences of at most {wins.epsilon * 100:g} points are ties and count "
        "half"
    )
    yield Fact(label="tasks compared", value=f"{wins.tasks:,}", note=ties)
    yield Fact(label="baseline", value=wins.agent or NOTHING, note=wins.baseline)
    if wins.note:
        yield Fact(label="warning", value="", note=wins.note)


def _notes(report: DomainReport) -> Iterator[Fact]:
    for each in report.notes:
        yield Fact(label=count(each.count, "dialogue"), value="", note=each.reason)


def _dialogues(report: DomainReport) -> Iterator[Fact]:
    turns, words = report.turns.mean, report.words
    yield Fact(label="turns", value=number(turns.mean), note=number_range(turns))
    yield Fact(
        label="human words",
        value=number(words.human.mean),
        note=number_range(words.human),
        hint="words that the human wrote, without the request",
    )
    yield Fact(
        label="agent words",
        value=number(words.agent.mean),
        note=number_range(words.agent),
        hint="words that the human had to read",
    )
    ended = report.ended_by
    note = f"by the turn limit {ended['limit']:,}, by a failure {ended['failure']:,}"
    yield Fact(label="ended by an answer", value=f"{ended['answer']:,}", note=note)


def _asking(asking: AskingReport | None) -> Iterator[Fact]:
    if asking is None:
        return
    for each in MEASURES:
        found = asking.metrics[each.metric.name]
        if found.mean is not None:
            yield measured(each.metric, found)
    if asking.gain_per_question:
        gain = asking.gain_per_question
        yield Fact(
            label="gain per question",
            value=points(gain.mean),
            note=points_range(gain),
            hint="score above a baseline that asks nothing, divided by the number of questions",
        )
    if len(asking.recall_by_turn) > 1:
        shown = " ".join(f"{100 * share:.0f}" for share in asking.recall_by_turn)
        note = f"{shown}%"
        turns = f"1 to {len(asking.recall_by_turn)}"
        hint = "hidden decisions revealed so far"
        yield Fact(label="recall by turn", value=turns, note=note, hint=hint)
    if asking.estimated:
        note = "some tasks list no decisions; their decisions were derived from the references"
        yield Fact(label="estimated", value="", note=note)


def _followed(followed: FollowedReport | None) -> Iterator[Fact]:
    if followed is None:
        return
    for metric in FOLLOWED:
        yield measured(metric, followed.metrics[metric.name])
    note = f"in {count(followed.dialogues, 'dialogue')}; outcomes as shares per dialogue"
    yield Fact(label="pointed out", value=f"{followed.differences:,}", note=note)


def _replies(report: DomainReport) -> Iterator[Fact]:
    for role, found in report.replies.items():
        noted = [
            f"{name} {number:,} ({percent(number / found.total)})"
            for name, number in reply_counts(found).items()
            if number
        ]
        yield Fact(
            label=f"{role}'s", value=f"{found.total:,}", note=", ".join(noted) or "all complete"
        )
        if found.retries or found.waited >= 1:
            note = f"{duration(found.waited)} of waiting, summed over dialogues"
            yield Fact(label="requests repeated", value=f"{found.retries:,}", note=note)


def reply_counts(found: Replies) -> dict[str, int]:
    """Return the number of replies with each kind of delivery problem, such as `cut`."""
    return {
        "empty": found.empty,
        "cut": found.cut,
        "filtered": found.filtered,
        "refused": found.refused,
    }


def _leaks(report: DomainReport) -> Iterator[Fact]:
    if report.leaks:
        said = "that the human revealed without being asked"
        yield _leak(
            "identifiers", report.leaks.identifiers, f"share of the reference's names {said}"
        )
        yield _leak(
            "literals",
            report.leaks.literals,
            f"share of the reference's numbers and strings {said}",
        )
        yield _leak(
            "n-grams",
            report.leaks.ngrams,
            f"share of the reference's sequences of four tokens {said}",
        )


def _leak(label: str, leak: LeakShare, hint: str) -> Fact:
    return Fact(label=label, value=percent(leak.mean), note=percent(leak.max), hint=hint)


def _spending(report: DomainReport) -> Iterator[Fact]:
    yield _tokens("agent tokens", report.tokens["agent"], report.cost.agent)
    yield _tokens("human tokens", report.tokens["human"], report.cost.human)
    yield dialogue_time(report)


def dialogue_time(report: DomainReport) -> Fact:
    """Return the fact about the time during which at least one dialogue was running."""
    note = "does not include startup and scoring"
    return Fact(label="dialogue time", value=duration(report.wall_seconds), note=note)


def _tokens(label: str, used: Tokens | None, cost: float | None) -> Fact:
    if used is None:
        return Fact(label=label, value="not counted", note="no model server reported usage")
    price = f"{dollars(cost)}" if cost is not None else "price unknown"
    return Fact(
        label=label,
        value=short(used.prompt + used.completion),
        note=f"{short(used.prompt)} in, {short(used.completion)} out; {price}{not_counted(used.uncounted)}",
    )


def not_counted(uncounted: int) -> str:
    """Return the end of a note: how many replies had no token count. Return "" if all replies had one."""
    return f"; {count(uncounted, 'reply', 'replies')} not counted" if uncounted else ""


def not_judged(domain: Domain, report: DomainReport) -> Iterator[Fact]:
    """Yield the number of answers that could not be compared with the reference, and the reason.

    Yield nothing if all answers could be compared.
    """
    if report.unjudged:
        note = f"no failures, but {domain.unjudged}"
        yield Fact(label="not judged", value=f"{report.unjudged:,}", note=note)


def _failures(domain: Domain, report: DomainReport) -> Iterator[Fact]:
    if not (report.failures or report.unjudged or report.missing):
        yield Fact(label="none", value="0")
    for boundary, failures in report.failures.items():
        reasons = "; ".join(f"{r.reason[:120]} ({r.count:,})" for r in failures.reasons)
        yield Fact(label=boundary, value=f"{failures.count:,}", note=reasons)
    yield from not_judged(domain, report)
    if report.missing:
        yield Fact(label="not begun", value=f"{report.missing:,}", note="no rollout yet")
