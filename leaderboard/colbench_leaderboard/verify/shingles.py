"""Shingles: sets of neighboring parts of a sequence, which are compared to find near-copies quickly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from zlib import crc32

Shingles = frozenset[int]
"""Checksums of a sequence's runs (consecutive parts) or pairs of parts; they are the same on every machine."""


def runs(parts: Sequence[str], size: int) -> Shingles:
    """Return the checksum of each run of `size` consecutive parts. If the sequence is shorter, it is the only run."""
    starts = range(max(1, len(parts) - size + 1)) if parts else ()
    return _shingles(parts[start : start + size] for start in starts)


def pairs(parts: Sequence[str], reach: int) -> Shingles:
    """Return the checksums of all pairs of parts at most `reach` places apart. A new part changes few of them."""
    return _shingles(
        (part, other)
        for place, part in enumerate(parts)
        for other in parts[place + 1 : place + 1 + reach]
    )


def containment(one: Shingles, other: Shingles) -> float:
    """Return the share of the smaller set that the larger set contains.

    Return 1 if both sets are empty, and 0 if only one set is empty.
    """
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else float(len(one) == len(other))


def _shingles(groups: Iterable[Sequence[str]]) -> Shingles:
    return frozenset(crc32("\0".join(group).encode()) for group in groups)
