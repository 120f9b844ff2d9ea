"""Near-duplicate requests: requests that share most of their shingles (sequences of three words).

The measure is the Jaccard similarity of two sets of shingles (Broder, On the resemblance and containment of documents,
1997). The result is exact, although few pairs are compared. If the similarity of two sets is at least `t`, their rarest
common shingle is among the rarest `n - ceil(t * n) + 1` shingles of each of the two sets, where `n` is the size of that
set. Therefore, only requests that have one of these rarest shingles in common are compared (Chaudhuri, Ganti, Kaushik,
A primitive operator for similarity joins, 2006).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from math import ceil

from colbench.task import SIGNATURE

SHINGLE = 3
"""Number of words in a shingle."""
SIMILAR = Fraction(4, 5)
"""Minimum similarity of near-duplicates."""
WORD = re.compile(r"\w+")
Shingles = frozenset[tuple[str, ...]]


def near_duplicates(requests: Sequence[str]) -> int:
    """Return the number of requests that are near-duplicates of an earlier request."""
    sets = [_shingles(request) for request in requests]
    frequency = Counter(each for shingles in sets for each in shingles)
    holders: dict[tuple[str, ...], list[int]] = defaultdict(list)
    found = 0
    for place, shingles in enumerate(sets):
        rarest = sorted(shingles, key=lambda each: (frequency[each], each))
        telling = rarest[: len(shingles) - ceil(SIMILAR * len(shingles)) + 1]
        candidates = {other for each in telling for other in holders[each]}
        found += any(_likeness(shingles, sets[other]) >= SIMILAR for other in candidates)
        for each in telling:
            holders[each].append(place)
    return found


def _shingles(request: str) -> Shingles:
    """Return all sequences of `SHINGLE` consecutive words before a request's first signature, in lower case.

    If there are fewer than `SHINGLE` words, the only sequence has all of them.
    """
    words = WORD.findall(SIGNATURE.split(request)[0].lower())
    last = max(len(words) - SHINGLE, 0)
    return frozenset(tuple(words[start : start + SHINGLE]) for start in range(last + 1))


def _likeness(one: Shingles, other: Shingles) -> float:
    both = len(one & other)
    return both / (len(one) + len(other) - both)
