"""The numbers of the asking, each a measure of one dialogue; docs/metrics.md defines them."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from msgspec import Struct

from colbench.domain import Metric
from colbench.rollout import Asking


class Measure(Struct, frozen=True):
    """A metric, and how to take it of the asking of one dialogue; None where it is undefined."""

    metric: Metric
    take: Callable[[Asking], float | None]


def _share(name: str, label: str, take: Callable[[Asking], float | None]) -> Measure:
    return Measure(Metric(name=name, label=label), take)


def _count(name: str, label: str, take: Callable[[Asking], float]) -> Measure:
    return Measure(Metric(name=name, label=label, unit="", bounds=(0.0, inf)), take)


MEASURES = (
    _share("ask_f1", "ask F1", lambda asking: asking.ask_f1),
    _share("ask_precision", "ask precision", lambda asking: asking.ask_precision),
    _share("ask_recall", "ask recall", lambda asking: asking.ask_recall),
    _count("questions", "questions", lambda asking: asking.questions),
    _count("needed_questions", "needed", lambda asking: asking.needed_questions),
    _count("redundant_questions", "redundant", lambda asking: asking.redundant),
    _count("unanswerable_questions", "unanswerable", lambda asking: asking.unanswerable),
    _count("late_questions", "late", lambda asking: asking.late),
    _count("guessed_decisions", "guessed decisions", lambda asking: len(asking.guessed)),
    _count("ignored_decisions", "ignored decisions", lambda asking: len(asking.ignored)),
)
"""In the order of reading."""


def measured(asking: Asking | None) -> dict[str, float | None]:
    """Return every measure of one dialogue by name; all None where the asking is not known."""
    return {each.metric.name: each.take(asking) if asking else None for each in MEASURES}
