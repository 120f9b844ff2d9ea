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
"""Maximum number of tasks for which `sign_flips` tries all combinations of signs; tasks without a difference do not
count."""
TIE = 1e-7
"""Largest rounding error of a sum of differences; smaller than any step of a score."""


def mcnemar(only_mine: int, only_theirs: int) -> float:
    """Return the p-value of the exact McNemar test; the arguments count the tasks that only one side solved."""
    return sign_test(only_mine, only_theirs)


def sign_test(wins: int, losses: int) -> float:
    """Return the p-value of a sign test: the probability that chance splits tasks at least this unevenly."""
    return _tails(wins + losses)[min(wins, losses)]


@cache
def _tails(total: int) -> tuple[float, ...]:
    """Return the p-values of sign tests over `total` tasks in which the weaker side wins 0, 1, ... of the tasks."""
    tails, ways, below = [], 1, 0
    for count in range(total // 2 + 1):
        below += ways
        ways = ways * (total - count) // (count + 1)
        tails.append(min(1.0, 2 * below / 2**total))
    return tuple(tails)


def sign_flip_test(differences: Sequence[float]) -> float:
    """Return the p-value of a permutation test of two sides; `differences` has one difference for each task.

    If the two sides did not differ, each task's difference would have either sign with equal probability. So the test
    compares the observed mean with the means under `RESAMPLES` random draws of all signs. The observed signs count as
    one more draw (Phipson and Smyth 2010).
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
    """Return the p-values of sign-flip tests (see `sign_flip_test`) of many pairs of entries.

    `differences`, of shape (tasks, pairs), has the values of one entry minus the values of the other. `flipped`, of
    shape (flips, pairs), has the sums of the differences under random signs. All pairs share these signs (see
    `flipped_sums`). A pair that differs on at most `MOST_EXACT` tasks is tested with all combinations of signs instead.
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
