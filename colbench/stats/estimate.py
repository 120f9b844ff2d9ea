"""Numbers that are stored or shown, rounded so that all machines agree on them."""

from __future__ import annotations

from msgspec import Struct

DIGITS = 6


class Estimate(Struct, frozen=True, kw_only=True):
    """A mean over tasks, and its 95% interval. The value of a task is the mean over the task's trials."""

    mean: float
    low: float
    high: float


def rounded(value: float) -> float:
    """Round to `DIGITS` decimals, few enough that the result is the same on all machines; return 0 for -0."""
    return round(value, DIGITS) + 0.0
