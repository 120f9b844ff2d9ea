"""The least difference of two entries that a comparison can detect."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

from colbench.stats.intervals import ALPHA

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

POWER = 0.8


def least_detectable(deviation: float, tasks: int) -> float:
    """Return the difference of means that a two-sided paired test at 5 % finds in 80 % of the cases.

    By the normal approximation. `deviation`: the standard deviation over tasks of the difference.
    """
    normal = NormalDist()
    return (normal.inv_cdf(1 - ALPHA / 2) + normal.inv_cdf(POWER)) * deviation / sqrt(tasks)


def typical_least_detectable(values: Floats) -> float | None:
    """Return the median over all pairs of columns; None for fewer than two columns or tasks.

    `values`: tasks by entries.
    """
    import numpy as np

    tasks, entries = values.shape
    if entries < 2 or tasks < 2:
        return None
    covariance = np.cov(values, rowvar=False)
    variance = np.diag(covariance)
    squares = variance[:, None] + variance[None, :] - 2 * covariance
    pairs = np.sqrt(np.maximum(squares, 0.0))[np.triu_indices(entries, k=1)]
    return least_detectable(float(np.median(pairs)), tasks)
