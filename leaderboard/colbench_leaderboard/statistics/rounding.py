"""Numbers that are shown or stored: coarser than the last bits, in which two machines may differ."""

from __future__ import annotations

DIGITS = 6


def rounded(value: float) -> float:
    """To `DIGITS` decimals; never -0."""
    return round(value, DIGITS) + 0.0
