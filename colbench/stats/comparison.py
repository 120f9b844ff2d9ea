"""Comparison of two sides on the same tasks: ties, tests (adjusted for the number of tests), and a verdict."""

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
    """A two-sided test of no difference."""

    name: TestName
    """`McNemar`: exact, for successes with one trial each.

    `sign flips`: a permutation test over tasks. `signs`: a test of tasks won against tasks lost, without ties.
    """
    p: float
    adjusted: float
    """Adjusted by Holm for all comparisons of this measure that are shown together."""


def significances(names: Sequence[TestName], p_values: Sequence[float]) -> list[Significance]:
    """Return the tests of one measure that are shown together, with p-values adjusted for their number."""
    tests = zip(names, p_values, holm(p_values), strict=True)
    return [Significance(name=name, p=p, adjusted=adjusted) for name, p, adjusted in tests]


def verdict(mean: float, test: Significance) -> Literal["ahead", "behind", "not separable"]:
    """Return the verdict on the first side, at an adjusted 5% level. `mean`: first minus second, more is better."""
    if test.adjusted > ALPHA:
        return "not separable"
    return "ahead" if mean > 0 else "behind"


def describe(shares: tuple[float, float, float], test: Significance, measure: str) -> str:
    """Describe a difference of shares in a sentence; `shares` are the mean and the ends of its interval."""
    mean, low, high = (f"{100 * each:+.1f}" for each in shares)
    p = f"p = {test.adjusted:.3g}" if test.adjusted >= 0.001 else "p < 0.001"
    adjusted = " (adjusted)" if test.adjusted != test.p else ""
    return (
        f"{verdict(shares[0], test)}: {mean} points in {measure} ({low} to {high}), {p}{adjusted}"
    )
