"""Correlation of scores with sizes: does a critic prefer long replies, or dialogues with many turns?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Correlation(Struct, frozen=True, kw_only=True):
    """Correlations between two variables over `count` pairs of numbers.

    A correlation is None if one variable is constant, or there are fewer than two pairs.
    """

    pearson: float | None
    spearman: float | None
    """Rank correlation; tied values have the mean of their ranks."""
    count: int


def correlation(scores: Sequence[float], sizes: Sequence[float]) -> Correlation:
    """Return the correlation of scores with sizes, such as a reply's tokens or a dialogue's turns."""
    import numpy as np

    one, other = (np.asarray(each, dtype=np.float64) for each in (scores, sizes))
    return Correlation(
        pearson=_pearson(one, other),
        spearman=_pearson(_ranks(one), _ranks(other)),
        count=len(one),
    )


def within(groups: Iterable[tuple[Sequence[float], Sequence[float]]]) -> Correlation:
    """Return the correlation of scores with sizes within turns. Each group has the scores and sizes for one turn.

    Ranking compares only candidates of the same turn. So the means of a turn are subtracted from its scores and sizes,
    and ranks are computed within a turn.
    """
    import numpy as np

    arrays = [[np.asarray(each, dtype=np.float64) for each in group] for group in groups]
    centered = [_joined([_centered(group[side]) for group in arrays]) for side in (0, 1)]
    ranked = [_joined([_centered(_ranks(group[side])) for group in arrays]) for side in (0, 1)]
    return Correlation(
        pearson=_pearson(*centered), spearman=_pearson(*ranked), count=len(centered[0])
    )


def _centered(values: Floats) -> Floats:
    return values - (values.mean() if _varies(values) else values[:1])


def _varies(values: Floats) -> bool:
    return len(values) > 1 and bool(values.min() < values.max())


def _joined(parts: Sequence[Floats]) -> Floats:
    import numpy as np

    return np.concatenate(parts) if parts else np.empty(0)


def _pearson(one: Floats, other: Floats) -> float | None:
    if len(one) != len(other):
        raise ValueError(
            f"a correlation needs two lists of the same length, not {len(one)} and {len(other)} numbers"
        )
    if not (_varies(one) and _varies(other)):
        return None
    first, second = _centered(one), _centered(other)
    return float((first @ second) / ((first @ first) * (second @ second)) ** 0.5)


def _ranks(values: Floats) -> Floats:
    """Return the ranks from 1; equal values have their mean rank."""
    import numpy as np

    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = count.cumsum()
    return np.asarray((last - (count - 1) / 2)[place], dtype=np.float64)
