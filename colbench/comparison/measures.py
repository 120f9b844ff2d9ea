"""What runs are compared by: every metric of the answer, what the asking was worth, and what both cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from typing import NamedTuple

from colbench.asking.measures import MEASURES
from colbench.asking.measures import Measure as AskingMeasure
from colbench.comparison.model import Measure
from colbench.config import RunConfig
from colbench.domain import Domain, Metric
from colbench.messages import Usage
from colbench.report.cells import leading_metric, value
from colbench.report.dialogue_stats import agent_words, human_words
from colbench.report.verdicts import reported_metrics
from colbench.rollout import Rollout

NOT_COMPARED = {"needed_questions", "questions"}
"""Measures of the asking that are left out: the task alone decides the one, the other is counted as effort."""
Taken = float | None


class Taker(NamedTuple):
    """A measure, and how it is taken of one dialogue of a run; None where it was not taken."""

    measure: Measure
    take: Callable[[Rollout, RunConfig], Taken]


def takers(domain: Domain, mode: str, rollouts: Sequence[Rollout]) -> list[Taker]:
    """Return all measures of a domain in the order of reading; `rollouts` are those of all compared runs."""
    lead = leading_metric(domain, rollouts)
    metrics = reported_metrics(domain, lead, rollouts)
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
    return Taker(measure, lambda rollout, _: value(rollout, mode, metric))


def _when_told(metric: Metric, mode: str) -> Taker:
    """Return success where every hidden decision was told: the writing apart from the asking."""

    def take(rollout: Rollout, _: RunConfig) -> Taken:
        asking = rollout.asking
        known = asking is not None and asking.hidden > 0 and not asking.open
        return value(rollout, mode, metric) if known else None

    label = f"{metric.name}, all told"
    measure = Measure(
        name=f"{metric.name}_when_told", label=label, group="answer", bounds=(0.0, 1.0)
    )
    return Taker(measure, take)


def _of_asking() -> Iterator[Taker]:
    """Yield what the questions of a dialogue were worth; none of it where the task's decisions are not known."""
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
    return Taker(measure, lambda rollout, _: each.take(rollout.asking) if rollout.asking else None)


def _of_effort() -> Iterator[Taker]:
    """Yield what a dialogue cost. Dialogues that failed were cut short and have none of it."""
    yield _effort("turns", "turns", "", lambda rollout, _: len(rollout.turns))
    yield _effort("questions", "questions", "", lambda each, _: _questions(each))
    yield _effort("human_words", "words by the human", "", lambda each, _: human_words(each))
    yield _effort("agent_words", "words to read", "", lambda each, _: agent_words(each))
    yield _effort("agent_tokens", "agent tokens", "", lambda each, _: _tokens(_agent(each)))
    yield _effort("human_tokens", "human tokens", "", lambda each, _: _tokens(_human(each)))
    yield _effort("cost", "cost", "$", _cost)


def _effort(name: str, label: str, unit: str, take: Callable[[Rollout, RunConfig], Taken]) -> Taker:
    measure = Measure(
        name=name, label=label, group="effort", unit=unit, direction="lower", bounds=None
    )
    return Taker(
        measure, lambda each, config: None if each.ended_by == "failure" else take(each, config)
    )


def _questions(rollout: Rollout) -> int:
    """Count the turns that the human replied to."""
    return sum(turn.human is not None for turn in rollout.turns)


def _agent(rollout: Rollout) -> list[Usage | None]:
    return [turn.agent_usage for turn in rollout.turns]


def _human(rollout: Rollout) -> list[Usage | None]:
    return [turn.human_usage for turn in rollout.turns if turn.human is not None]


def _tokens(usages: Sequence[Usage | None]) -> Taken:
    """Return the tokens of all replies; None if a server did not count one."""
    if not usages or None in usages:
        return None
    total = sum(filter(None, usages), Usage())
    return float(total.prompt_tokens + total.completion_tokens)


def _cost(rollout: Rollout, config: RunConfig) -> Taken:
    """Return the US dollars that both sides cost; None if a price or a count is unknown, or no model was asked."""
    sides = [(_agent(rollout), config.agent_price), (_human(rollout), config.human_price)]
    paid = [(usages, price) for usages, price in sides if any(usages)]
    if not paid or any(price is None or None in usages for usages, price in paid):
        return None
    return sum(
        (used.prompt_tokens * price[0] + used.completion_tokens * price[1]) / 1e6
        for usages, price in paid
        if price
        for used in usages
        if used
    )
