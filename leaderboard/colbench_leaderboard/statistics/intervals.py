"""Means over tasks with their 95 % intervals, and pass^k, as an entry's summary has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from colbench.stats import Clusters, mean_interval, pass_k
from colbench_leaderboard.receipt import Estimate

DIGITS = 6
"""Decimals of an estimate: coarser than the last bits, in which two machines may differ."""


def estimate(clusters: Clusters, bounds: tuple[float, float] | None = (0.0, 1.0)) -> Estimate:
    """The mean over tasks of the means over trials, with the interval of `colbench.stats.mean_interval`.

    Where all tasks have the same value of an unbounded quantity, nothing is known of its spread: low and high are it.
    Raises ValueError if there is no task.
    """
    found = mean_interval(clusters, bounds)
    if found.mean is None:
        raise ValueError("a mean over no tasks")
    low = found.mean if found.low is None else found.low
    high = found.mean if found.high is None else found.high
    return Estimate(mean=rounded(found.mean), low=rounded(low), high=rounded(high))


def pass_curve(successes: Iterable[Sequence[bool]], trials: int) -> tuple[float, ...]:
    """pass^k for k = 1 to the number of trials, the chance that k trials of a task all succeed."""
    tasks = list(successes)
    means = (pass_k(tasks, k).mean for k in range(1, trials + 1))
    return tuple(rounded(mean) for mean in means if mean is not None)


def rounded(value: float) -> float:
    """To `DIGITS` decimals; never -0."""
    return round(value, DIGITS) + 0.0
