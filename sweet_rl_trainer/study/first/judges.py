"""What the scores that methods learn from are worth, over seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import TypeVar

from msgspec import Struct

from colbench.numbers import percent_with_range
from colbench.stats import Interval
from sweet_rl_trainer.study.first.methods import METHODS, TURNS, Method
from sweet_rl_trainer.study.first.results import Critic, Results, Timing

T = TypeVar("T")
Bounds = tuple[float, float, float]
"""A mean and the ends of its interval."""


def bounds(interval: Interval) -> Bounds:
    """Return the mean and the ends of an interval. Raises ValueError if it has none."""
    if interval.mean is None or interval.low is None or interval.high is None:
        raise ValueError("an interval of no values has no ends")
    return interval.mean, interval.low, interval.high


def shown(bounds: Bounds) -> str:
    """Return `42.3 % (39.1 to 45.4)`."""
    mean, low, high = bounds
    return percent_with_range(Interval(mean=mean, low=low, high=high, method="bootstrap"))


class Judge(Struct, frozen=True, kw_only=True):
    """What the scores that a method learns from are worth, over seeds."""

    method: Method
    others: tuple[Method, ...]
    """That have the same scores of dialogues, with the first seed."""
    pairs: int
    """With each seed the same."""
    learnt: tuple[int, ...]
    """Pairs that the critic has learnt from, with each seed."""
    accuracy: Bounds | None
    """None where no model scores."""
    matched_pairs: int
    matched: Bounds | None
    """Accuracy among pairs of dialogues with equally many turns; None where a seed has no such pair."""
    with_turns: float | None
    best_of: tuple[tuple[int, Bounds], ...]
    """For each n that all seeds have."""
    timing: tuple[tuple[int, Bounds, int], ...]
    """How often answers score higher, for each number of hidden facts that all seeds have; and the turns of all."""
    first_timing: tuple[Timing, ...]
    """With the first seed."""


def judges(results: Results) -> list[Judge]:
    """Return all scores in the order of the methods, then the number of turns."""
    by_method = {
        method.name: {each.seed: each for each in results.critics if each.method == method.name}
        for method in (*METHODS, TURNS)
    }
    known = [
        (method, [critics[seed] for seed in sorted(critics)])
        for method in (*METHODS, TURNS)
        if (critics := by_method[method.name])
    ]
    return [
        _judge(method, _others(method, critics[0], known), critics) for method, critics in known
    ]


def _others(
    method: Method, critic: Critic, known: Sequence[tuple[Method, Sequence[Critic]]]
) -> list[Method]:
    """Return the other methods whose first critic has the same scores of dialogues."""
    return [
        other
        for other, (first, *_) in known
        if other is not method and critic.scores and first.scores == critic.scores
    ]


def distinct(found: Sequence[Judge]) -> list[Judge]:
    """Return the judges with scores of dialogues that no earlier one has."""
    return first_of_equals(found, lambda each: {one.name for one in (each.method, *each.others)})


def distinct_timings(found: Sequence[Judge]) -> list[Judge]:
    """Return the judges with a timing that no earlier one has with its first seed."""
    known = [each for each in found if each.timing]
    return first_of_equals(known, lambda each: each.first_timing)


def _judge(method: Method, others: Sequence[Method], critics: Sequence[Critic]) -> Judge:
    curves = [{n: (here, low, high) for n, here, low, high in each.best_of} for each in critics]
    common = set.intersection(*(set(curve) for curve in curves))
    timings = [{one.hidden: one for one in each.timing} for each in critics]
    hidden = set.intersection(*(set(timing) for timing in timings))
    known = [each.accuracy for each in critics if each.accuracy]
    matched = [each.matched for each in critics if each.matched]
    turns = [each.with_turns for each in critics if each.with_turns is not None]
    return Judge(
        method=method,
        others=tuple(others),
        pairs=critics[0].pairs,
        learnt=tuple(each.learnt for each in critics),
        accuracy=averaged(known) if known else None,
        matched_pairs=critics[0].matched_pairs,
        matched=averaged(matched) if len(matched) == len(critics) else None,
        with_turns=fmean(turns) if len(turns) == len(critics) else None,
        best_of=tuple((n, averaged([curve[n] for curve in curves])) for n in sorted(common)),
        timing=tuple(
            (
                n,
                averaged([each[n].share for each in timings]),
                sum(each[n].turns for each in timings),
            )
            for n in sorted(hidden)
        ),
        first_timing=critics[0].timing,
    )


def first_of_equals(parts: Iterable[T], value: Callable[[T], object]) -> list[T]:
    """Return the parts without those whose value an earlier one has, such as methods that rank by the same scores."""
    kept: list[T] = []
    for each in parts:
        if value(each) not in map(value, kept):
            kept.append(each)
    return kept


def averaged(seeds: Iterable[Bounds]) -> Bounds:
    """Return the means of the seeds' means and interval ends.

    The interval is no narrower than that of the mean over seeds: the deviation of a mean is at most the mean of the
    deviations, and equals it where the seeds err on the same tasks.
    """
    mean, low, high = (fmean(each) for each in zip(*seeds, strict=True))
    return mean, low, high
