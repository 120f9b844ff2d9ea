from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from colbench.stats.paired import MOST_EXACT, mcnemar, sign_flip_test, sign_flips, sign_test
from colbench.stats.resampling import flipped_sums


@pytest.mark.parametrize(
    ("wins", "losses"), [(0, 0), (1, 0), (5, 0), (3, 9), (9, 3), (7, 7), (400, 460)]
)
def test_the_sign_test_and_mcnemars_test_equal_the_exact_binomial_test(wins, losses):
    total = wins + losses
    expected = stats.binomtest(wins, total, 0.5).pvalue if total else 1.0
    assert sign_test(wins, losses) == pytest.approx(expected, rel=1e-9)
    assert mcnemar(wins, losses) == sign_test(wins, losses)


def p_value(difference):
    """Return the p-value of p_value pair."""
    column = np.array(difference, float)[:, None]
    return sign_flips(column, flipped_sums(column))[0]


def test_few_differences_are_tested_with_all_sign_flips():
    difference = [0.3, -0.1, 0.4, 0.2, 0.2, 0.5, 0.0, 0.0]
    sums = [
        sum(s * d for s, d in zip(signs, difference, strict=True))
        for signs in product((1, -1), repeat=8)
    ]
    expected = np.mean([abs(total) >= sum(difference) - 1e-9 for total in sums])
    assert p_value(difference) == pytest.approx(expected)


def test_all_sign_flips_agree_with_scipys_permutation_test():
    generator = np.random.default_rng(3)
    mine, theirs = generator.random(9), generator.random(9)
    found = stats.permutation_test(
        (mine, theirs), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=np.inf
    )
    assert p_value(mine - theirs) == pytest.approx(found.pvalue)


def test_sign_flips_of_differences_of_one_size_agree_with_the_sign_test():
    for wins, losses in ((60, 40), (52, 48), (70, 30)):
        found = p_value([0.1] * wins + [-0.1] * losses + [0.0] * 50)
        assert found == pytest.approx(sign_test(wins, losses), abs=0.015)


def test_many_differences_agree_with_scipys_permutation_test():
    generator = np.random.default_rng(5)
    mine = generator.random(200) + 0.03
    theirs = generator.random(200)
    found = stats.permutation_test(
        (mine, theirs), lambda a, b: np.mean(a - b), permutation_type="samples", rng=generator
    )
    assert p_value(mine - theirs) == pytest.approx(found.pvalue, abs=0.02)


def test_zero_differences_have_a_p_of_one():
    assert p_value([0.0] * 30) == 1.0
    assert p_value([0.0]) == 1.0


def test_a_clear_difference_never_has_a_p_of_zero():
    assert p_value([1.0] * 100) == pytest.approx(1 / 10_001)
    assert p_value([1.0] * MOST_EXACT) == pytest.approx(2 / 2**MOST_EXACT)


def test_pairs_tested_together_have_the_p_values_of_separate_tests():
    values = np.random.default_rng(7).random((50, 4))
    flipped = flipped_sums(values)
    together = sign_flips(values[:, [0]] - values[:, 1:], flipped[:, [0]] - flipped[:, 1:])
    alone = [p_value(values[:, 0] - values[:, other]) for other in (1, 2, 3)]
    assert together == pytest.approx(alone, abs=2e-4)


@pytest.mark.parametrize("seed", range(4))
def test_the_sign_flip_test_of_one_column_agrees_with_all_sign_flips(seed):
    generator = np.random.default_rng(seed)
    values = generator.integers(-2, 4, size=9) / 4
    sums = [abs(np.dot(signs, values)) for signs in product((-1, 1), repeat=9)]
    exact = np.mean(np.array(sums) >= abs(values.sum()) - 1e-9)
    assert sign_flip_test(list(values)) == pytest.approx(exact, abs=0.02)


def test_the_sign_flip_test_accepts_zero_empty_and_equal_columns():
    assert sign_flip_test([0.0, 0.0]) == 1.0
    assert sign_flip_test([]) == 1.0
    assert sign_flip_test([0.5] * 40) == pytest.approx(1 / 10_001)
