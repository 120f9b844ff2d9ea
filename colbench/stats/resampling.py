"""Resampling of the tasks of a leaderboard, computed for all entries together.

A resample is a row of weights: how often each task is drawn. A flip is a row of signs: 1 or -1 for each task. So one
matrix product gives the sums of all entries under all resamples or flips. For any pair of entries, the difference of
their sums is the sum of their differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from colbench.stats.intervals import BLOCK, RESAMPLES, SEED, bootstrap_means

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST_SHARED = 5_000
"""Maximum number of tasks for which `shared_bootstrap_means` and `flipped_sums` keep their random draws in memory.

For this number of tasks, the draws of `shared_bootstrap_means` take 100 MB, and the draws of `flipped_sums` take 50 MB.
"""
DIGITS = 9
"""Decimals to which products of matrices are rounded, so that equal columns give equal results."""


def resampled_means(values: Floats, resamples: int = RESAMPLES) -> Floats:
    """Return the means of each column over resamples of the rows with replacement; all columns share the resamples.

    Shapes: `values` (tasks, entries), result (resamples, entries). `resamples` is at most `RESAMPLES`.
    """
    return _products(_counts(len(values))[:resamples], values) / len(values)


def shared_bootstrap_means(values: Floats) -> Floats:
    """Return the result of `bootstrap_means` up to rounding, but faster.

    Calls with equally many values share the random draws, unless there are more than `MOST_SHARED` values.
    """
    if len(values) > MOST_SHARED:
        return bootstrap_means(values)
    means: Floats = resampled_means(values[:, None])[:, 0]
    return means


def flipped_sums(values: Floats) -> Floats:
    """Return the column sums after random sign flips of the rows; all columns get the same flips.

    `values` has the shape (tasks, entries), and the result has the shape (flips, entries).
    """
    if len(values) > MOST_SHARED:
        return _summed(_drawn_signs(len(values)), values)
    return _products(_signs(len(values)), values)


def _products(weights: NDArray[Any], values: Floats) -> Floats:
    """Return the product of a matrix of small integers and `values`, rounded; a few rows are multiplied at a time."""
    rows = _rows(len(values))
    return _summed((weights[i : i + rows] for i in range(0, len(weights), rows)), values)


def _summed(parts: Iterable[NDArray[Any]], values: Floats) -> Floats:
    """Return the rounded product of a matrix of small integers, given in blocks of rows (`parts`), and `values`."""
    import numpy as np

    return np.round(np.concatenate([part.astype(np.float64) @ values for part in parts]), DIGITS)


@lru_cache(maxsize=2)
def _counts(tasks: int) -> NDArray[np.uint16]:
    """Return how often each task is in each resample; shape (resamples, tasks)."""
    import numpy as np

    generator = np.random.Generator(np.random.PCG64(SEED))
    counts = np.empty((RESAMPLES, tasks), np.uint16)
    for start in range(0, RESAMPLES, _rows(tasks)):
        part = counts[start : start + _rows(tasks)]
        drawn = generator.integers(tasks, size=part.shape) + np.arange(len(part))[:, None] * tasks
        part[:] = np.bincount(drawn.ravel(), minlength=part.size).reshape(part.shape)
    return counts


@lru_cache(maxsize=2)
def _signs(tasks: int) -> NDArray[np.int8]:
    """Return a random sign (1 or -1) for each task in each flip; shape (flips, tasks)."""
    import numpy as np

    return np.concatenate(list(_drawn_signs(tasks)))


def _drawn_signs(tasks: int) -> Iterator[NDArray[np.int8]]:
    """Yield the matrix that `_signs` returns, a block of rows at a time."""
    import numpy as np

    generator = np.random.Generator(np.random.PCG64(SEED + 1))
    rows = 4 * max(1, _rows(tasks) // 4)  # each draw yields four signs
    for start in range(0, RESAMPLES, rows):
        size = (min(rows, RESAMPLES - start), tasks)
        yield generator.integers(2, size=size, dtype=np.int8) * np.int8(2) - np.int8(1)


def _rows(tasks: int) -> int:
    """Return the number of rows of a matrix of weights that are multiplied in one block."""
    return max(1, BLOCK // tasks)
