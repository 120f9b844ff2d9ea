"""Detection of copies: the parts of two sources are compared in order.

Each domain splits sources into parts, preferably parts that renaming and layout do not change; see `Domain.copied`.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from colbench.items import TOKEN

ALIKE = 0.97
"""Minimum share of parts that two sources must have in common to count as the same."""
LEAST = 20
"""Minimum number of parts of a reference; shorter code could have been written independently."""
LONGER = 3
"""Maximum ratio of the numbers of parts of a copy and its reference: the larger number divided by the smaller."""


def is_copy(reference: Sequence[object], parts: Sequence[object]) -> bool:
    """Return True if an answer's sequence of parts is nearly the same as the reference's sequence.

    Return False if the reference has fewer than `LEAST` parts.
    """
    if len(reference) < LEAST or not 1 / LONGER < len(parts) / len(reference) < LONGER:
        return False
    if reference == parts:
        return True
    match = SequenceMatcher(None, reference, parts, autojunk=False)
    return match.real_quick_ratio() >= ALIKE and match.quick_ratio() >= ALIKE <= match.ratio()


def token_parts(source: str) -> tuple[str, ...]:
    """Split a source in any language into its lower-case words, numbers and symbols."""
    return tuple(token.lower() for token in TOKEN.findall(source))
