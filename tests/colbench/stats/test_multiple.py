from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from colbench.stats import holm


def test_holm_scales_p_values_by_rank_and_keeps_their_order():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))


def test_one_comparison_needs_no_adjustment():
    assert holm([0.03]) == (0.03,)
    assert holm([]) == ()


def test_an_adjusted_p_is_at_most_one():
    assert holm([0.6, 0.7]) == (1.0, 1.0)


@given(some.lists(some.floats(0, 1), min_size=1, max_size=8))
def test_holm_equals_the_closed_test_of_bonferroni(p_values):
    """Compare with the closed test: an adjusted p is the largest Bonferroni p of any set that holds the hypothesis."""
    from itertools import combinations

    everything = range(len(p_values))
    closed = [
        max(
            min(1.0, len(group) * min(p_values[i] for i in group))
            for size in range(1, len(p_values) + 1)
            for group in combinations(everything, size)
            if index in group
        )
        for index in everything
    ]
    assert holm(p_values) == pytest.approx(closed)
