"""Resampling the tasks of a board for all of its entries at once.

A resample of the tasks is a row of weights, and a flip of signs is a row of ones and minus ones. Both are linear, so
one matrix product covers every entry and every pair of entries.
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
"""Maximum number of tasks for which draws are kept (100 MB)."""
DIGITS = 9
"""Decimals that products of matrices are rounded to, so that equal columns stay equal."""


def resampled_means(values: Floats, resamples: int = RESAMPLES) -> Floats:
    """Return the means of each column over the same resamples of the rows with replacement.

    `values` has the shape (tasks, entries), the result (resamples, entries). `resamples`: at most `RESAMPLES`.
    """
    return _products(_counts(len(values))[:resamples], values) / len(values)


def shared_bootstrap_means(values: Floats) -> Floats:
    """Return `bootstrap_means` of one column; columns with the same number of tasks share their draws, for speed."""
    if len(values) > MOST_SHARED:
        return bootstrap_means(values)
    means: Floats = resampled_means(values[:, None])[:, 0]
    return means


def flipped_sums(values: Floats) -> Floats:
    """Return the sums of each column after random sign flips of the rows, the same flips for all columns.

    `values` has the shape (tasks, entries), the result (flips, entries).
    """
    if len(values) > MOST_SHARED:
        return _summed(_drawn_signs(len(values)), values)
    return _products(_signs(len(values)), values)


def _products(weights: NDArray[Any], values: Floats) -> Floats:
    """Multiply each row of small integers by the values and round."""
    rows = _rows(len(values))
    return _summed((weights[i : i + rows] for i in range(0, len(weights), rows)), values)


def _summed(parts: Iterable[NDArray[Any]], values: Floats) -> Floats:
    """Multiply the rows of matrices of small integers by the values and round."""
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
    """Yield the rows of `_signs`, some at a time."""
    import numpy as np

    generator = np.random.Generator(np.random.PCG64(SEED + 1))
    rows = 4 * max(1, _rows(tasks) // 4)  # each draw yields four signs
    for start in range(0, RESAMPLES, rows):
        size = (min(rows, RESAMPLES - start), tasks)
        yield generator.integers(2, size=size, dtype=np.int8) * np.int8(2) - np.int8(1)


def _rows(tasks: int) -> int:
    """Return the number of rows of weights to multiply at a time."""
    return max(1, BLOCK // tasks)
