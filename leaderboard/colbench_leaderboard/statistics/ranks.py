"""Places on a board and how sure they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from colbench.stats import ALPHA
from colbench_leaderboard.statistics.paired import sign_flips
from colbench_leaderboard.statistics.resampling import DIGITS, flipped_sums, resampled_means

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]


class Places(Struct, frozen=True, kw_only=True):
    """The places of all entries, in the order of the entries."""

    place: tuple[int, ...]
    """From 1, by the mean, the highest first; the same mean is the same place."""
    low: tuple[int, ...]
    high: tuple[int, ...]
    """The 95 % interval of the place over resamples of the tasks, where a tie may end either way; and at least every
    place that it may have beside those that it is not separable from."""
    inseparable: tuple[tuple[int, ...], ...]
    """For each, the others (indices from 0) for which a sign-flip test of the difference has p > 5 %, unadjusted."""


def places(values: Floats) -> Places:
    """The places of entries by their mean over the tasks. `values`: tasks by entries, the same tasks for all."""
    import numpy as np

    means = np.round(values.mean(axis=0), DIGITS)
    resampled, flipped = resampled_means(values), flipped_sums(values)
    columns = range(values.shape[1])
    unsure = [_inseparable(values, flipped, entry) for entry in columns]
    ends = [_interval(resampled, means, entry, unsure[entry]) for entry in columns]
    return Places(
        place=tuple(1 + int((means > mean).sum()) for mean in means),
        low=tuple(low for low, _ in ends),
        high=tuple(high for _, high in ends),
        inseparable=tuple(
            tuple(other for other in columns if unsure[entry][other] and other != entry)
            for entry in columns
        ),
    )


def _inseparable(values: Floats, flipped: Floats, entry: int) -> Flags:
    """Of every entry, this one included, whether it cannot be told apart from this one."""
    import numpy as np

    differences, sums = values - values[:, [entry]], flipped - flipped[:, [entry]]
    return np.array(sign_flips(differences, sums)) > ALPHA


def _interval(resampled: Floats, means: Floats, entry: int, unsure: Flags) -> tuple[int, int]:
    import numpy as np

    mine = resampled[:, [entry]]
    best, worst = 1 + (resampled > mine).sum(axis=1), (resampled >= mine).sum(axis=1)
    low = np.quantile(best, ALPHA / 2, method="inverted_cdf")
    high = np.quantile(worst, 1 - ALPHA / 2, method="inverted_cdf")
    surely_above = int((~unsure & (means > means[entry])).sum())
    surely_below = int((~unsure & (means < means[entry])).sum())
    return min(int(low), 1 + surely_above), max(int(high), len(means) - surely_below)


def in_words(entry: int, found: Places) -> str:
    """Which places an entry is not separable from, as a board says it."""
    others = found.inseparable[entry]
    if not others:
        alone = len(found.place) == 1
        return "the only entry" if alone else "separable from every other entry"
    spans = _spans(sorted({found.place[other] for other in others}))
    named = [f"{first}" if first == last else f"{first} to {last}" for first, last in spans]
    listed = named[0] if len(named) == 1 else ", ".join(named[:-1]) + " and " + named[-1]
    who = f"{len(others)} other{'s' if len(others) > 1 else ''}"
    return f"not separable from {who}, at place{'s' if listed != str(spans[0][0]) else ''} {listed}"


def _spans(numbers: list[int]) -> list[tuple[int, int]]:
    """Runs of consecutive numbers, each by its first and last."""
    spans: list[tuple[int, int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    return spans
