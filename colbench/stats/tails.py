"""Probabilities that chance alone gives as much as was seen: tails of sums of independent variables."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, fsum


def poisson_binomial_tail(count: int, chances: Sequence[float]) -> float:
    """Return the probability of `count` or more successes in independent trials with these chances, exactly.

    The distribution is built up one trial at a time; time is quadratic in the number of trials.
    """
    import numpy as np

    distribution = np.zeros(len(chances) + 1)
    distribution[0] = 1.0
    for chance in chances:
        distribution[1:] = distribution[1:] * (1 - chance) + distribution[:-1] * chance
        distribution[0] *= 1 - chance
    return min(1.0, fsum(distribution[max(0, count) :].tolist()))


def hoeffding_tail(excess: float, number: int) -> float:
    """Bound the probability that a mean exceeds its expectation by `excess` or more (Hoeffding's inequality).

    The mean is that of `number` independent variables, each of which has a range of width 1.
    """
    return exp(-2 * number * excess**2) if excess > 0 else 1.0
