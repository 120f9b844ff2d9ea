"""Tests of one entry against another on the same tasks; every p value is two-sided."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST_EXACT = 12
"""Tasks with a difference up to which all flips of signs are gone through."""
TIE = 1e-7
"""What rounding may add to a sum; below any step of a score."""


def mcnemar(only_mine: int, only_theirs: int) -> float:
    """Exact: the chance, if neither is better, that the tasks that one of the two solved are shared out as unevenly."""
    return sign_test(only_mine, only_theirs)


def sign_test(wins: int, losses: int) -> float:
    """The chance of wins and losses as uneven as these if both were as likely; ties are in neither number."""
    return _tails(wins + losses)[min(wins, losses)]


@cache
def _tails(total: int) -> tuple[float, ...]:
    """P for 0, 1, … of the rarer side: twice the lower tail of the binomial distribution at 1/2, at most 1."""
    tails, ways, below = [], 1, 0
    for count in range(total // 2 + 1):
        below += ways
        ways = ways * (total - count) // (count + 1)
        tails.append(min(1.0, 2 * below / 2**total))
    return tuple(tails)


def sign_flips(differences: Floats, flipped: Floats) -> tuple[float, ...]:
    """The permutation test of a mean, for each column: the chance of as large a sum if each task's sign were a coin's.

    `differences`: one entry's values minus another's, tasks by pairs; `flipped`: their sums under random flips
    (`flipped_sums`), flips by pairs. Where at most `MOST_EXACT` tasks differ all flips are gone through instead.
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
