"""Near-duplicate requests: requests that share most of their runs (here, sequences of three words, or shingles).

The measure is the Jaccard similarity of two sets of runs (Broder, On the resemblance and containment of documents,
1997). The result is exact, although few pairs are compared: two sets with a similarity of at least `t` have a run in
common among the rarest `1 - t` of their runs, so only requests that share such a run are compared (Chaudhuri, Ganti,
Kaushik, A primitive operator for similarity joins, 2006).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from math import ceil

from colbench.task import SIGNATURE

RUN = 3
"""Number of words in a run (a shingle)."""
SIMILAR = Fraction(4, 5)
"""Minimum similarity of near-duplicates."""
WORD = re.compile(r"\w+")
Runs = frozenset[tuple[str, ...]]


def near_duplicates(requests: Sequence[str]) -> int:
    """Return the number of requests that are near-duplicates of an earlier one."""
    sets = [_runs(request) for request in requests]
    frequency = Counter(run for runs in sets for run in runs)
    holders: dict[tuple[str, ...], list[int]] = defaultdict(list)
    found = 0
    for place, runs in enumerate(sets):
        rarest = sorted(runs, key=lambda run: (frequency[run], run))
        telling = rarest[: len(runs) - ceil(SIMILAR * len(runs)) + 1]
        candidates = {other for run in telling for other in holders[run]}
        found += any(_likeness(runs, sets[other]) >= SIMILAR for other in candidates)
        for run in telling:
            holders[run].append(place)
    return found


def _runs(request: str) -> Runs:
    """Return all sequences of `RUN` consecutive words in a request up to its signature, in lower case.

    If there are fewer than `RUN` words, the only sequence has all of them.
    """
    words = WORD.findall(SIGNATURE.split(request)[0].lower())
    last = max(len(words) - RUN, 0)
    return frozenset(tuple(words[start : start + RUN]) for start in range(last + 1))


def _likeness(one: Runs, other: Runs) -> float:
    both = len(one & other)
    return both / (len(one) + len(other) - both)
