"""Differences between one entry of a leaderboard and many other entries on the same tasks, computed together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from colbench.stats.estimate import Estimate, rounded
from colbench.stats.intervals import ALPHA, ROUNDING, equal_interval
from colbench.stats.paired import sign_flips
from colbench.stats.resampling import flipped_sums, resampled_means

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Bounds = tuple[float, float]
"""The least and the greatest possible value."""
RESAMPLES = 2_000
"""Number of resamples for the interval of a difference.

A leaderboard has thousands of differences, so more resamples would take too long. With this number, the error of each
end of an interval is about 3% of its half-width.
"""


class Measure:
    """One measure of all entries on a leaderboard. `means`: for each task and entry, the mean over the trials."""

    def __init__(self, means: Floats) -> None:
        self.means = means

    @cached_property
    def _columns(self) -> Floats:
        return _by_entry(self.means)

    @cached_property
    def _resampled(self) -> Floats:
        return _by_entry(resampled_means(self.means, RESAMPLES))

    @cached_property
    def _flipped(self) -> Floats:
        return _by_entry(flipped_sums(self.means))

    def differences(self, mine: int, others: Sequence[int], bounds: Bounds) -> list[Estimate]:
        """Return the mean of `mine` minus the mean of each entry in `others`, with intervals from resampled tasks."""
        resampled = _minus(self._resampled, mine, others)
        return _estimates(self._by_task(mine, others), resampled, bounds)

    def sign_flips(self, mine: int, others: Sequence[int]) -> tuple[float, ...]:
        """Return the p-values of the sign-flip tests of entry `mine` against each entry in `others`."""
        flipped = _minus(self._flipped, mine, others)
        return sign_flips(self._by_task(mine, others), flipped)

    def deviations(self, mine: int, others: Sequence[int]) -> list[float]:
        """Return the standard deviation, over tasks, of `mine` minus each entry in `others`; 0 for a single task."""
        found = self._by_task(mine, others)
        several = len(found) > 1
        deviations: list[float] = found.std(axis=0, ddof=1 if several else 0).tolist()
        return deviations

    def _by_task(self, mine: int, others: Sequence[int]) -> Floats:
        return _minus(self._columns, mine, others)


def _by_entry(matrix: Floats) -> Floats:
    """Return the transposed array, in which the data of an entry is contiguous in memory."""
    import numpy as np

    return np.ascontiguousarray(matrix.T)


def _minus(by_entry: Floats, mine: int, others: Sequence[int]) -> Floats:
    """Return the values of `mine` minus the values of each entry in `others`; one column for each entry in `others`."""
    differences: Floats = by_entry[mine] - by_entry[others]
    return differences.T


def mean_estimates(values: Floats, bounds: Bounds) -> list[Estimate]:
    """Return the mean of each column of `values`, with an interval from resampled rows; each row is a task."""
    return _estimates(values, resampled_means(values, RESAMPLES), bounds)


def _estimates(values: Floats, resampled: Floats, bounds: Bounds) -> list[Estimate]:
    """Return the mean of each column of `values` with its interval.

    The interval comes from the column's resampled means or, if all tasks have the same value, from `equal_interval`.
    Shapes: `values` (tasks, columns), `resampled` (resamples, columns).
    """
    import numpy as np

    lows, highs = np.quantile(resampled, [ALPHA / 2, 1 - ALPHA / 2], axis=0)
    constant = np.ptp(values, axis=0) <= ROUNDING
    found = []
    for column, mean in enumerate(values.mean(axis=0).tolist()):
        low, high = float(lows[column]), float(highs[column])
        if constant[column]:
            equal = equal_interval(mean, len(values), bounds)
            low, high = equal.low or 0.0, equal.high or 0.0
        found.append(Estimate(mean=rounded(mean), low=rounded(low), high=rounded(high)))
    return found


def win_shares(mine: Floats, theirs: Floats, epsilon: float) -> Floats:
    """Return, for each task, the share of pairs of trials (one per side) that `mine` wins; ties count half.

    `mine` and `theirs` have the shape (tasks, trials). Values that differ by at most `epsilon` are a tie.
    """
    leads = mine[:, :, None] - theirs[:, None, :]
    tie = epsilon + ROUNDING
    shares: Floats = ((leads > tie).mean(axis=(1, 2)) + (leads >= -tie).mean(axis=(1, 2))) / 2
    return shares
