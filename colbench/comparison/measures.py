"""What runs are compared by: every metric of the answer, what the asking was worth, and what both cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from typing import NamedTuple

from colbench.comparison.model import Measure
from colbench.config import RunConfig
from colbench.domain import Domain, Metric
from colbench.messages import Usage
from colbench.report.cells import leading_metric, value
from colbench.report.dialogues import agent_words, human_words
from colbench.report.verdicts import reported_metrics
from colbench.rollout import Rollout, Turn

UNBOUNDED = (0.0, inf)
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
    return [*(_of_answer(metric, mode) for metric in order), *_of_effort()]


def _of_answer(metric: Metric, mode: str) -> Taker:
    measure = Measure(
        name=metric.name,
        label=metric.label,
        group="answer",
        unit=metric.unit,
        direction=metric.direction,
        bounds=metric.bounds,
    )
    return Taker(measure, lambda rollout, _: value(rollout, mode, metric))


def _of_effort() -> Iterator[Taker]:
    """Yield what a dialogue cost. Dialogues that failed were cut short and have none of it."""
    yield _effort("turns", "turns", "", lambda rollout, _: len(rollout.turns))
    yield _effort("human_words", "words the human wrote", "", lambda each, _: human_words(each))
    yield _effort("agent_words", "words the human had to read", "", lambda each, _: agent_words(each))
    yield _effort("agent_tokens", "agent's tokens", "", lambda each, _: _tokens(_agent(each)))
    yield _effort("human_tokens", "human's tokens", "", lambda each, _: _tokens(_human(each)))
    yield _effort("cost", "cost", "$", _cost)


def _effort(
    name: str, label: str, unit: str, take: Callable[[Rollout, RunConfig], Taken]
) -> Taker:
    measure = Measure(
        name=name, label=label, group="effort", unit=unit, direction="lower", bounds=UNBOUNDED
    )
    return Taker(measure, lambda each, config: None if each.ended_by == "failure" else take(each, config))


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
