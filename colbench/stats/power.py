"""The least difference that a paired test can detect, and the tasks or trials needed to detect a given difference."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

from colbench.stats.intervals import ALPHA, ROUNDING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

POWER = 0.8
FEWEST = 6
"""Minimum number of tasks; with fewer, no exact test of signs is significant at 5%."""


def least_detectable(deviation: float, tasks: int) -> float:
    """Return the smallest difference of means that a two-sided paired test at 5% finds in 80% of the cases.

    The result is a normal approximation, for at least `FEWEST` tasks. `deviation`: the standard deviation of the tasks'
    differences.
    """
    return _distance() * deviation / sqrt(tasks)


def tasks_needed(difference: float, deviation: float) -> int | None:
    """Return the smallest number of tasks, but at least `FEWEST`, with which `difference` is detectable.

    The result is None if `difference` is 0 within rounding error. `deviation`: the standard deviation of the tasks'
    differences.
    """
    if abs(difference) <= ROUNDING:
        return None
    return max(FEWEST, ceil((_distance() * deviation / difference) ** 2))


def trials_needed(difference: float, between: float, within: float, tasks: int) -> int | None:
    """Return the smallest number of trials per task that makes `difference` detectable.

    The result is None in two cases: `difference` is 0 within rounding error, or no number of trials is enough, because
    the tasks differ too much or are fewer than `FEWEST`. `between`, `within`: see `variances`.
    """
    if abs(difference) <= ROUNDING or tasks < FEWEST:
        return None
    room = tasks * (difference / _distance()) ** 2 - between
    return max(1, ceil(within / room)) if room > 0 else None


def variances(clusters: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """Return (between, within), two variances of the difference of two sides: between tasks, and within a task.

    `clusters`: for each task, the difference of the two sides in each trial. The mean of a task with k trials has the
    variance `between + within / k` (tasks are random effects). The result is None for fewer than two tasks, or if no
    task has several trials.
    """
    import numpy as np

    several = [each for each in clusters if len(each) > 1]
    if not several or len(clusters) < 2:
        return None
    degrees = sum(len(each) - 1 for each in several)
    within = sum(float(np.var(each)) * len(each) for each in several) / degrees
    means = [sum(each) / len(each) for each in clusters]
    share = sum(1 / len(each) for each in clusters) / len(clusters)
    return max(0.0, float(np.var(means, ddof=1)) - within * share), within


def _distance() -> float:
    """Return the smallest detectable difference, in standard errors."""
    normal = NormalDist()
    return normal.inv_cdf(1 - ALPHA / 2) + normal.inv_cdf(POWER)


def typical_least_detectable(values: Floats) -> float | None:
    """Return the median of `least_detectable` over all pairs of columns.

    `values` has the shape (tasks, entries). The result is None for fewer than two entries or fewer than
    `FEWEST` tasks.
    """
    import numpy as np

    tasks, entries = values.shape
    if entries < 2 or tasks < FEWEST:
        return None
    covariance = np.cov(values, rowvar=False)
    variance = np.diag(covariance)
    squares = variance[:, None] + variance[None, :] - 2 * covariance
    pairs = np.sqrt(np.maximum(squares, 0.0))[np.triu_indices(entries, k=1)]
    return least_detectable(float(np.median(pairs)), tasks)
