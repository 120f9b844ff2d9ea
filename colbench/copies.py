"""Detection of a source that is a copy of another one, by comparing their parts in order.

Domains split a source into parts that renaming and layout do not change; see `Domain.copied`.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from colbench.items import TOKEN

ALIKE = 0.97
"""Minimum share of common parts of two sources that count as the same."""
LEAST = 20
"""Minimum number of parts of a reference; shorter code could have been written independently."""
LONGER = 3
"""Factor by which an answer must have more or fewer parts than the reference to be too long or too short for a copy."""


def is_copy(reference: Sequence[object], parts: Sequence[object]) -> bool:
    """Return True if an answer's sequence of parts is nearly the same as the reference's."""
    if len(reference) < LEAST or not 1 / LONGER < len(parts) / len(reference) < LONGER:
        return False
    if reference == parts:
        return True
    match = SequenceMatcher(None, reference, parts, autojunk=False)
    return match.real_quick_ratio() >= ALIKE and match.quick_ratio() >= ALIKE <= match.ratio()


def token_parts(source: str) -> tuple[str, ...]:
    """Split a source in any language into its lower-case words, numbers and symbols."""
    return tuple(token.lower() for token in TOKEN.findall(source))
