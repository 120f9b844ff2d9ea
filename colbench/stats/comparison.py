"""Comparison of two sides (such as two runs or two entries of a leaderboard) on the same tasks.

This module defines ties, significance tests with adjusted p-values, and the verdict on the first side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from colbench.stats.intervals import ALPHA
from colbench.stats.multiple import holm

EPSILON = 0.001
"""Largest difference of two scores that counts as a tie: a tenth of a point, the resolution of reports."""
TIE_RULE = f"values that differ by at most {EPSILON} are ties and count half"
TestName = Literal["McNemar", "sign flips", "signs"]


class Significance(Struct, frozen=True, kw_only=True):
    """The result of a two-sided test; its null hypothesis is that two sides do not differ."""

    name: TestName
    """The name of the test.

    `McNemar`: the exact McNemar test, for success rates if both sides have one trial of each task. `sign flips`: a
    permutation test over tasks. `signs`: a sign test of tasks won against tasks lost; ties are left out.
    """
    p: float
    adjusted: float
    """The p-value after Holm's adjustment for all comparisons of this measure that are shown together."""


def significances(names: Sequence[TestName], p_values: Sequence[float]) -> list[Significance]:
    """Return the significance of each test in a group, with p-values adjusted for the number of tests in the group."""
    tests = zip(names, p_values, holm(p_values), strict=True)
    return [Significance(name=name, p=p, adjusted=adjusted) for name, p, adjusted in tests]


def verdict(mean: float, test: Significance) -> Literal["ahead", "behind", "not separable"]:
    """Return the verdict on the first of two sides: a difference counts if its adjusted p-value is at most 5%.

    `mean`: the mean of the first side minus the mean of the second; higher values are better.
    """
    if test.adjusted > ALPHA:
        return "not separable"
    return "ahead" if mean > 0 else "behind"


def describe(shares: tuple[float, float, float], test: Significance, measure: str) -> str:
    """Describe the difference of two shares in a sentence; `shares`: the difference, its low end and its high end."""
    mean, low, high = (f"{100 * each:+.1f}" for each in shares)
    p = f"p = {test.adjusted:.3g}" if test.adjusted >= 0.001 else "p < 0.001"
    adjusted = " (adjusted)" if test.adjusted != test.p else ""
    return (
        f"{verdict(shares[0], test)}: {mean} points in {measure} ({low} to {high}), {p}{adjusted}"
    )
