"""Probabilities that chance alone gives at least the observed value: tails of sums of independent variables."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, fsum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BLOCK = 8
"""Maximum size of a block, whose trials are added one by one; the distributions of the blocks are then convolved."""


def poisson_binomial_tail(count: int, chances: Sequence[float]) -> float:
    """Return the exact probability of `count` or more successes in independent trials with these probabilities."""
    return min(1.0, fsum(_distribution(chances)[max(0, count) :].tolist()))


def _distribution(chances: Sequence[float]) -> Floats:
    """Return the probabilities of 0, 1, … successes; shape (len(chances) + 1,)."""
    import numpy as np

    if len(chances) > BLOCK:
        middle = len(chances) // 2
        return np.convolve(_distribution(chances[:middle]), _distribution(chances[middle:]))
    found = [1.0]
    for chance in chances:
        failed, passed = [*found, 0.0], [0.0, *found]
        found = [f * (1 - chance) + p * chance for f, p in zip(failed, passed, strict=True)]
    return np.array(found)


def hoeffding_tail(excess: float, number: int) -> float:
    """Return Hoeffding's upper bound on the probability that a mean exceeds its expectation by `excess` or more.

    The mean is over `number` independent variables, each with a range of width 1.
    """
    return exp(-2 * number * excess**2) if excess > 0 else 1.0
