"""Paired tests on the same tasks; every p-value is two-sided."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

from colbench.stats.intervals import BLOCK, RESAMPLES, ROUNDING, SEED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST_EXACT = 12
"""Maximum number of tasks with a difference for which `sign_flips` enumerates all flips of signs."""
TIE = 1e-7
"""Possible rounding error of a sum; below any step of a score."""


def mcnemar(only_mine: int, only_theirs: int) -> float:
    """Return the exact McNemar p-value from the numbers of tasks that only one of two entries solved."""
    return sign_test(only_mine, only_theirs)


def sign_test(wins: int, losses: int) -> float:
    """Return the probability that chance splits wins and losses at least this unevenly; ties are not counted."""
    return _tails(wins + losses)[min(wins, losses)]


@cache
def _tails(total: int) -> tuple[float, ...]:
    """Return the p-values if the rarer side has 0, 1, ... tasks: twice the lower binomial tail at 1/2, at most 1."""
    tails, ways, below = [], 1, 0
    for count in range(total // 2 + 1):
        below += ways
        ways = ways * (total - count) // (count + 1)
        tails.append(min(1.0, 2 * below / 2**total))
    return tuple(tails)


def sign_flip_test(differences: Sequence[float]) -> float:
    """Return the p-value of a permutation test of the mean of one column of differences, one for each task.

    If the two sides did not differ, each task's difference would have either sign with equal probability. The test uses
    `RESAMPLES` random draws of all signs plus the observed signs (Phipson and Smyth 2010).
    """
    import numpy as np

    values = np.array([each for each in differences if each])
    if not len(values):
        return 1.0
    least = abs(values.sum()) - ROUNDING * len(values)
    generator = np.random.Generator(np.random.PCG64(SEED))
    rows = max(1, BLOCK // len(values))
    extreme = 0
    for start in range(0, RESAMPLES, rows):
        size = (min(rows, RESAMPLES - start), len(values))
        signs = generator.integers(2, size=size, dtype=np.int8) * 2.0 - 1
        extreme += int((abs(signs @ values) >= least).sum())
    return (extreme + 1) / (RESAMPLES + 1)


def sign_flips(differences: Floats, flipped: Floats) -> tuple[float, ...]:
    """Return the p-values of sign-flip tests (`sign_flip_test`) for many columns that share their draws.

    `differences`, of shape (tasks, pairs), has one entry's values minus another's. `flipped`, of shape (flips, pairs),
    has their sums under random flips (`flipped_sums`). If at most `MOST_EXACT` tasks differ, all flips are enumerated.
    """
    import numpy as np

    sums = np.abs(differences.sum(axis=0)) - TIE
    as_large = (np.abs(flipped) >= sums).sum(axis=0)
    sampled = (1 + as_large) / (1 + len(flipped))
    few = np.count_nonzero(np.abs(differences) > TIE, axis=0) <= MOST_EXACT
    return tuple(
        _exact(differences[:, pair]) if few[pair] else float(sampled[pair])
        for pair in range(differences.shape[1])
    )


def _exact(difference: Floats) -> float:
    import numpy as np

    differing = difference[np.abs(difference) > TIE]
    sums = np.abs(_all_signs(len(differing)) @ differing)
    return float((sums >= abs(float(differing.sum())) - TIE).mean())


@cache
def _all_signs(tasks: int) -> Floats:
    import numpy as np

    return np.array(list(product((-1.0, 1.0), repeat=tasks)))
