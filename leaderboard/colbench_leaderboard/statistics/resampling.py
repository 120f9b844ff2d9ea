"""Resampling the tasks of a board for all of its entries at once.

A resample of the tasks is a row of weights and a flip of signs a row of ones and minus ones; both are linear, so that
one product of matrices serves every entry and every pair of entries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from colbench.stats import BLOCK, SEED

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RESAMPLES = 10_000
DIGITS = 9
"""Decimals that products of matrices are rounded to, so that equal columns stay equal."""


def resampled_means(values: Floats, resamples: int = RESAMPLES) -> Floats:
    """The means of each column over the same resamples of the rows with replacement.

    `values`: tasks by entries. Returns resamples by entries.
    """
    import numpy as np

    tasks = len(values)
    means = np.empty((resamples, values.shape[1]))
    for rows, generator in _blocks(tasks, resamples):
        size = rows.stop - rows.start
        drawn = generator.integers(tasks, size=(size, tasks))
        drawn += np.arange(size)[:, None] * tasks
        weights = np.bincount(drawn.ravel(), minlength=size * tasks).reshape(size, tasks)
        means[rows] = np.round(weights @ values / tasks, DIGITS)
    return means


def flipped_sums(values: Floats, flips: int = RESAMPLES) -> Floats:
    """The sums of each column where each row's sign is flipped or not, at random and the same for all columns.

    `values`: tasks by entries. Returns flips by entries.
    """
    import numpy as np

    tasks = len(values)
    sums = np.empty((flips, values.shape[1]))
    for rows, generator in _blocks(tasks, flips):
        signs = generator.integers(2, size=(rows.stop - rows.start, tasks), dtype=np.int8) * 2.0 - 1
        sums[rows] = np.round(signs @ values, DIGITS)
    return sums


def _blocks(tasks: int, rows: int) -> Iterator[tuple[slice, np.random.Generator]]:
    """Slices of at most `BLOCK` values, with the generator to draw them from."""
    import numpy as np

    generator = np.random.Generator(np.random.PCG64(SEED))
    size = max(1, BLOCK // tasks)
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows)), generator
