"""Measures for comparing runs: every metric of the answer and of the questions, and the effort (turns, words, …)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from typing import NamedTuple

from colbench.asking.measures import MEASURES
from colbench.asking.measures import Measure as AskingMeasure
from colbench.comparison.model import Measure
from colbench.config import RunConfig
from colbench.domain import Domain, Metric
from colbench.report.cells import leading_metric, value
from colbench.report.dialogue_stats import DialogueStats, RoleStats
from colbench.report.verdicts import reported_metrics

NOT_COMPARED = {"needed_questions", "questions", "guessed_decisions"}
"""Measures of asking that are left out.

`needed_questions` depends only on the task. `questions` is a measure of effort here. `guessed_decisions` is a matter of
luck: neither a higher nor a lower value is better.
"""
Taken = float | None


class Taker(NamedTuple):
    """A measure, and a function that computes it for one dialogue and returns None where it is undefined."""

    measure: Measure
    take: Callable[[DialogueStats, RunConfig], Taken]


def takers(domain: Domain, mode: str, dialogues: Sequence[DialogueStats]) -> list[Taker]:
    """Return all measures of a domain in display order; `dialogues` are the dialogues of all compared runs."""
    lead = leading_metric(domain, dialogues)
    metrics = reported_metrics(domain, lead, dialogues)
    order = sorted(metrics, key=lambda metric: (metric.role != "success", metric != lead))
    answer = [_of_answer(metric, mode) for metric in order]
    informed = [_when_told(domain.success, mode)] if domain.success else []
    return [*answer, *informed, *_of_asking(), *_of_effort()]


def _of_answer(metric: Metric, mode: str) -> Taker:
    measure = Measure(
        name=metric.name,
        label=metric.label,
        group="answer",
        unit=metric.unit,
        direction=metric.direction,
        bounds=metric.bounds if all(map(isfinite, metric.bounds)) else None,
    )
    return Taker(measure, lambda each, _: value(each, mode, metric))


def _when_told(metric: Metric, mode: str) -> Taker:
    """Return a measure of answering, as opposed to asking: success in dialogues that revealed every hidden decision."""

    def take(dialogue: DialogueStats, _: RunConfig) -> Taken:
        asking = dialogue.asking
        known = asking is not None and asking.hidden > 0 and not asking.open
        return value(dialogue, mode, metric) if known else None

    label = f"{metric.name}, all revealed"
    measure = Measure(
        name=f"{metric.name}_when_told", label=label, group="answer", bounds=(0.0, 1.0)
    )
    return Taker(measure, take)


def _of_asking() -> Iterator[Taker]:
    """Yield the measures of a dialogue's questions; all are undefined if the task's decisions are unknown."""
    return (_asking(each) for each in MEASURES if each.metric.name not in NOT_COMPARED)


def _asking(each: AskingMeasure) -> Taker:
    share = each.metric.unit == "%"
    measure = Measure(
        name=each.metric.name,
        label=each.metric.label,
        group="asking",
        unit=each.metric.unit,
        direction="higher" if share else "lower",
        bounds=each.metric.bounds if share else None,
    )
    return Taker(measure, lambda found, _: each.take(found.asking) if found.asking else None)


def _of_effort() -> Iterator[Taker]:
    """Yield the measures of a dialogue's effort. These measures are undefined if a failure cut the dialogue short."""
    yield _effort("turns", "turns", "", lambda each, _: each.turns)
    yield _effort("questions", "questions", "", lambda each, _: each.questions)
    yield _effort("human_words", "words by the human", "", lambda each, _: each.human_words)
    yield _effort("agent_words", "words to read", "", lambda each, _: each.agent_words)
    yield _effort("agent_tokens", "agent tokens", "", lambda each, _: _tokens(each.agent))
    yield _effort("human_tokens", "human tokens", "", lambda each, _: _tokens(each.human))
    yield _effort("cost", "cost", "$", _cost)


def _effort(
    name: str, label: str, unit: str, take: Callable[[DialogueStats, RunConfig], Taken]
) -> Taker:
    measure = Measure(
        name=name, label=label, group="effort", unit=unit, direction="lower", bounds=None
    )
    return Taker(
        measure, lambda each, config: None if each.ended_by == "failure" else take(each, config)
    )


def _tokens(role: RoleStats) -> Taken:
    """Return the tokens of all replies; None if the count of at least one reply is unknown."""
    if role.usage is None or role.uncounted:
        return None
    return float(role.usage.prompt_tokens + role.usage.completion_tokens)


def _cost(dialogue: DialogueStats, config: RunConfig) -> Taken:
    """Return the cost of agent and human in US dollars; None if a price or count is unknown, or no model was called."""
    sides = [(dialogue.agent, config.agent_price), (dialogue.human, config.human_price)]
    paid = [(role, price) for role, price in sides if role.usage or role.served]
    if not paid:
        return None
    total = 0.0
    for role, price in paid:
        if role.usage is None or role.uncounted or price is None:
            return None
        total += role.usage.prompt_tokens * price[0] + role.usage.completion_tokens * price[1]
    return total / 1e6
