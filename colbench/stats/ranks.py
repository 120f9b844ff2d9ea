"""Places in a ranking and their uncertainty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from colbench.stats.differences import Measure
from colbench.stats.intervals import ALPHA
from colbench.stats.resampling import DIGITS, resampled_means

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]


class Places(Struct, frozen=True, kw_only=True):
    """The places of all entries, in the order of the entries."""

    place: tuple[int, ...]
    """Rank from 1, by mean, highest first; entries with the same mean share a place."""
    low: tuple[int, ...]
    high: tuple[int, ...]
    """`low` to `high` is the 95% interval of the place over resamples of the tasks; a tie widens it in both directions.

    The interval also includes two further places of the entry: the place if all entries from which it is not separable
    were ranked below it, and the place if all of them were ranked above it.
    """
    inseparable: tuple[tuple[int, ...], ...]
    """For each entry, the indices of the others that the unadjusted sign-flip test does not separate from it at 5%."""


def places(values: Floats) -> Places:
    """Return each entry's place by its mean value over the tasks; `values` has the shape (tasks, entries)."""
    import numpy as np

    means = np.round(values.mean(axis=0), DIGITS)
    unsure, (low, high) = _inseparable(values), _resampled_places(values)
    columns = range(values.shape[1])
    above = (~unsure & (means[None, :] > means[:, None])).sum(axis=1)
    below = (~unsure & (means[None, :] < means[:, None])).sum(axis=1)
    return Places(
        place=tuple(1 + int((means > mean).sum()) for mean in means),
        low=tuple(np.minimum(low, 1 + above).tolist()),
        high=tuple(np.maximum(high, len(means) - below).tolist()),
        inseparable=tuple(
            tuple(other for other in columns if unsure[entry][other] and other != entry)
            for entry in columns
        ),
    )


def _inseparable(values: Floats) -> Flags:
    """Return an array, shape (entries, entries), that is True for inseparable pairs of entries and on the diagonal."""
    import numpy as np

    entries = values.shape[1]
    measure, unsure = Measure(values), np.eye(entries, dtype=bool)
    for entry in range(entries - 1):
        p_values = measure.sign_flips(entry, range(entry + 1, entries))
        unsure[entry, entry + 1 :] = unsure[entry + 1 :, entry] = np.array(p_values) > ALPHA
    return unsure


def _resampled_places(values: Floats) -> tuple[Floats, Floats]:
    """Return the low and high ends of the 95% interval of each entry's place, from resampled means.

    A tie counts as a win for the low end (the better place), and as a loss for the high end.
    """
    import numpy as np

    resampled = resampled_means(values)
    entries = values.shape[1]
    won, lost = np.empty(resampled.shape, np.int32), np.empty(resampled.shape, np.int32)
    for means, best, worst in zip(resampled, won, lost, strict=True):
        ordered = np.sort(means)
        best[:] = entries + 1 - ordered.searchsorted(means, "right")
        worst[:] = entries - ordered.searchsorted(means, "left")
    low = np.quantile(won, ALPHA / 2, axis=0, method="inverted_cdf")
    high = np.quantile(lost, 1 - ALPHA / 2, axis=0, method="inverted_cdf")
    return low, high


def describe_separability(entry: int, found: Places) -> str:
    """Return a phrase that names the ranks of the other entries from which an entry is not separable."""
    others = found.inseparable[entry]
    if not others:
        alone = len(found.place) == 1
        return "the only entry" if alone else "separable from every other entry"
    spans = _spans(sorted({found.place[other] for other in others}))
    named = [f"{first}" if first == last else f"{first} to {last}" for first, last in spans]
    listed = named[0] if len(named) == 1 else ", ".join(named[:-1]) + " and " + named[-1]
    who = f"{len(others)} other{'s' if len(others) > 1 else ''}"
    return f"not separable from {who}, at rank{'s' if listed != str(spans[0][0]) else ''} {listed}"


def _spans(numbers: list[int]) -> list[tuple[int, int]]:
    """Return the spans of consecutive numbers in an ascending list, each as its first and its last number."""
    spans: list[tuple[int, int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    return spans
