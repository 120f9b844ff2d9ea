"""Means over tasks with 95% intervals, win rates, and pass^k. Definitions: docs/metrics.md.

Tasks are always the unit of resampling: trials of one task are averaged first, because they share the task's difficulty
and are not independent. Every function is deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import comb, fsum, isfinite
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Clusters = Iterable[Sequence[float]]
"""For each task, the values of its trials."""

ALPHA = 0.05
"""One minus the confidence level of every interval, and the significance level of every test."""
RESAMPLES = 10_000
SEED = 0
BLOCK = 2**20
"""Number of values that the bootstrap draws at a time; it limits the memory in use."""
FEW_PAIRS = 64
"""Maximum number of pairs of trials for which plain Python is used, because it is then faster than numpy."""
ROUNDING = 1e-12
"""Largest floating-point error of a difference; smaller than any step that scores are rounded to."""


class Interval(Struct, frozen=True, kw_only=True):
    """A mean over tasks and its 95% interval; a number that cannot be computed is None."""

    mean: float | None
    low: float | None
    high: float | None
    method: Literal["bootstrap", "exact", "none"]
    """The method that gives the interval.

    `bootstrap`: percentiles of resampled means. `exact`: all tasks have the same value, see `equal_interval`. `none`:
    the interval cannot be computed, because no task has a value, or because all tasks have the same value and the
    values are unbounded.
    """


def mean(values: Sequence[float]) -> float:
    """Return the mean of the values, of which there must be at least one.

    The sum is exact before it is rounded, so the order of the values does not matter.
    """
    return fsum(values) / len(values)


def mean_interval(
    clusters: Clusters,
    bounds: tuple[float, float] | None = (0.0, 1.0),
    resample: Callable[[Floats], Floats] | None = None,
) -> Interval:
    """Return the mean over tasks of each task's mean over trials, with its interval.

    `clusters`: for each task, the values of its trials; tasks without values are left out. `bounds`: the least and the
    greatest possible value; None, or infinite bounds, for unbounded values. `resample`: the function that draws
    the resampled means, by default `bootstrap_means`.
    """
    import numpy as np

    values = sorted(mean(cluster) for cluster in clusters if len(cluster))
    if not values:
        return Interval(mean=None, low=None, high=None, method="none")
    means, center = np.array(values), mean(values)
    if np.isclose(means[0], means[-1], rtol=0, atol=ROUNDING):
        return equal_interval(center, len(means), bounds)
    low, high = np.quantile((resample or bootstrap_means)(means), [ALPHA / 2, 1 - ALPHA / 2])
    return Interval(mean=center, low=float(low), high=float(high), method="bootstrap")


def bootstrap_means(values: Floats) -> Floats:
    """Return the means of `RESAMPLES` resamples of the values with replacement; shape (RESAMPLES,)."""
    import numpy as np

    size = len(values)
    generator = np.random.Generator(np.random.PCG64(SEED))
    rows = max(1, BLOCK // size)
    means: Floats = np.empty(RESAMPLES)
    for start in range(0, RESAMPLES, rows):
        block = means[start : start + rows]
        block[:] = values[generator.integers(size, size=(len(block), size))].mean(axis=1)
    return means


def equal_interval(mean: float, tasks: int, bounds: tuple[float, float] | None) -> Interval:
    """Return the interval for drawn tasks that all have the same value, `mean`.

    Without finite `bounds`, the ends of the interval are None.

    A bootstrap interval of these tasks would have no width, so an exact interval is computed instead. If a share p of
    all possible tasks has this value, the n drawn tasks (`tasks`) all have it with probability p**n. The interval uses
    the p for which this probability is ALPHA / 2, so p = (ALPHA / 2) ** (1 / n). For the low end of the interval, all
    other possible tasks are assumed to have the lower bound as their value; for the high end, the upper bound. For
    rates of 0 and 1, the interval is the Clopper-Pearson interval.
    """
    if bounds is None or not all(map(isfinite, bounds)):
        return Interval(mean=mean, low=None, high=None, method="none")
    least = (ALPHA / 2) ** (1 / tasks)
    low, high = (least * mean + (1 - least) * bound for bound in bounds)
    return Interval(mean=mean, low=low, high=high, method="exact")


def win_rate(mine: Clusters, theirs: Clusters, epsilon: float) -> Interval:
    """Return the share of tasks on which the value of `mine` is greater, with its interval; ties count half.

    `mine` and `theirs` have the values of each side's trials by task, with the tasks in the same order. A task is left
    out if either side has no values for it. Values that differ by at most `epsilon` are a tie. Each trial of `mine` is
    compared with every trial of `theirs` on the same task, because trials with the same number are unrelated.
    """
    return mean_interval(
        [win_share(ours, others, epsilon)]
        for ours, others in zip(mine, theirs, strict=True)
        if len(ours) and len(others)
    )


def win_share(mine: Sequence[float], theirs: Sequence[float], epsilon: float) -> float:
    """Return the share of pairs of trials (one per side) that `mine` wins on a task; ties count half."""
    tie = epsilon + ROUNDING
    if len(mine) * len(theirs) > FEW_PAIRS:
        return _share_of_many(mine, theirs, tie)
    leads = [a - b for a in mine for b in theirs]
    halves = sum(lead > tie for lead in leads) + sum(lead >= -tie for lead in leads)
    return halves / (2 * len(leads))


def _share_of_many(mine: Sequence[float], theirs: Sequence[float], tie: float) -> float:
    import numpy as np

    leads = np.subtract.outer(np.array(mine, np.float64), np.array(theirs, np.float64))
    halves = int((leads > tie).sum()) + int((leads >= -tie).sum())
    return halves / (2 * leads.size)


def pass_hat(successes: int, trials: int, k: int) -> float:
    """Return the unbiased estimate of the probability that k trials of a task all succeed.

    `trials` must be at least k.
    """
    return comb(successes, k) / comb(trials, k)


def pass_k(clusters: Iterable[Sequence[bool]], k: int) -> Interval:
    """Return pass^k: `pass_hat` averaged over the tasks with at least k trials, with its interval."""
    return mean_interval(
        [pass_hat(sum(cluster), len(cluster), k)] for cluster in clusters if len(cluster) >= k
    )
