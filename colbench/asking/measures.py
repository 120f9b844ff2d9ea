"""The measures of an agent's questions in one dialogue, and the outcomes of the differences that the human pointed out.

docs/metrics.md defines them.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from msgspec import Struct

from colbench.domain import Metric
from colbench.rollout import Asking, Followed


class Measure(Struct, frozen=True):
    """A metric, and the function that computes it from a dialogue's questions, or returns None if it is undefined."""

    metric: Metric
    take: Callable[[Asking], float | None]


def _share(
    name: str, label: str, description: str, take: Callable[[Asking], float | None]
) -> Measure:
    return Measure(Metric(name=name, label=label, description=description), take)


def _count(name: str, label: str, description: str, take: Callable[[Asking], float]) -> Measure:
    metric = Metric(name=name, label=label, unit="", bounds=(0.0, inf), description=description)
    return Measure(metric, take)


MEASURES = (
    _share(
        "ask_f1", "ask F1", "harmonic mean of precision and recall", lambda asking: asking.ask_f1
    ),
    _share(
        "ask_precision",
        "ask precision",
        "questions that revealed an open decision",
        lambda asking: asking.ask_precision,
    ),
    _share(
        "ask_recall",
        "ask recall",
        "hidden decisions revealed before the answer",
        lambda asking: asking.ask_recall,
    ),
    _count("questions", "questions", "asked in a dialogue", lambda asking: asking.questions),
    _count(
        "needed_questions",
        "needed at least",
        "fewest questions that reveal every decision, at two per reply",
        lambda asking: asking.needed_questions,
    ),
    _count(
        "redundant_questions",
        "redundant",
        "asked only about known decisions",
        lambda asking: asking.redundant,
    ),
    _count(
        "unanswerable_questions",
        "unanswerable",
        "asked about no decision of the task",
        lambda asking: asking.unanswerable,
    ),
    _count(
        "late_questions", "late", "asked after everything was known", lambda asking: asking.late
    ),
    _count(
        "guessed_decisions",
        "decisions guessed right",
        "never revealed, but right in the answer",
        lambda asking: len(asking.guessed),
    ),
    _count(
        "ignored_decisions",
        "ignored decisions",
        "revealed, but contradicted by the answer",
        lambda asking: len(asking.ignored),
    ),
)
"""The measures in display order."""


def measured(asking: Asking | None) -> dict[str, float | None]:
    """Return the values of one dialogue's measures, by the measures' names. An undefined measure has the value None.

    All values are None if the dialogue's questions were not analyzed.
    """
    return {each.metric.name: each.take(asking) if asking else None for each in MEASURES}


FOLLOWED = (
    Metric(name="differences_fixed", label="fixed", description="gone from the next page"),
    Metric(
        name="differences_kept", label="kept", description="unchanged, smaller or slightly larger"
    ),
    Metric(
        name="differences_worse",
        label="worse",
        direction="lower",
        description="at least 10% larger, part missing, or page not rendered",
    ),
)
"""The share of each outcome in a dialogue, among the pointed-out differences whose outcome is known."""


def followed_shares(followed: Followed | None) -> dict[str, float | None]:
    """Return the value of each metric in `FOLLOWED`, by the metric's name.

    Every value is None if `followed` is None or counts no difference.
    """
    if followed is None or not followed.pointed_out:
        return {metric.name: None for metric in FOLLOWED}
    counts = (followed.fixed, followed.kept, followed.worse)
    return {
        metric.name: number / followed.pointed_out
        for metric, number in zip(FOLLOWED, counts, strict=True)
    }
