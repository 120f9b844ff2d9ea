"""Tails of sums of independent variables, compared with tails computed in other ways."""

from __future__ import annotations

from itertools import product
from math import comb, prod

import pytest

from colbench.stats.tails import hoeffding_tail, poisson_binomial_tail


def enumerated(count: int, chances: list[float]) -> float:
    outcomes = product([True, False], repeat=len(chances))
    return sum(
        prod(chance if won else 1 - chance for won, chance in zip(outcome, chances, strict=True))
        for outcome in outcomes
        if sum(outcome) >= count
    )


@pytest.mark.parametrize("count", range(6))
def test_the_tail_is_the_sum_over_all_outcomes(count):
    chances = [0.1, 0.5, 0.37, 0.9, 0.02]
    assert poisson_binomial_tail(count, chances) == pytest.approx(enumerated(count, chances))


def test_equal_chances_give_the_binomial_distribution():
    direct = sum(comb(60, k) * 0.3**k * 0.7 ** (60 - k) for k in range(30, 61))
    assert poisson_binomial_tail(30, [0.3] * 60) == pytest.approx(direct, rel=1e-9)


def test_a_very_small_tail_keeps_its_precision():
    assert poisson_binomial_tail(100, [0.1] * 100) == pytest.approx(1e-100, rel=1e-6, abs=0)


def test_zero_trials_have_zero_successes():
    assert poisson_binomial_tail(0, []) == 1.0
    assert poisson_binomial_tail(1, []) == 0.0


def test_hoeffdings_bound_holds_for_a_fair_coin_and_is_one_without_an_excess():
    tosses = 100
    more = sum(comb(tosses, k) for k in range(65, tosses + 1)) / 2**tosses
    assert more < hoeffding_tail(0.15, tosses) < 0.02
    assert hoeffding_tail(0.0, tosses) == hoeffding_tail(-0.2, tosses) == 1.0
