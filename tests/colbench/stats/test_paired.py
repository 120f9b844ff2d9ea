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
def test_the_sign_test_and_mcnemars_are_the_exact_binomial_test(wins, losses):
    total = wins + losses
    expected = stats.binomtest(wins, total, 0.5).pvalue if total else 1.0
    assert sign_test(wins, losses) == pytest.approx(expected, rel=1e-9)
    assert mcnemar(wins, losses) == sign_test(wins, losses)


def one(difference):
    """Return the test of one pair."""
    column = np.array(difference, float)[:, None]
    return sign_flips(column, flipped_sums(column))[0]


def test_few_differences_are_tested_by_every_flip_of_their_signs():
    difference = [0.3, -0.1, 0.4, 0.2, 0.2, 0.5, 0.0, 0.0]
    sums = [
        sum(s * d for s, d in zip(signs, difference, strict=True))
        for signs in product((1, -1), repeat=8)
    ]
    expected = np.mean([abs(total) >= sum(difference) - 1e-9 for total in sums])
    assert one(difference) == pytest.approx(expected)


def test_every_flip_agrees_with_scipys_permutation_test():
    generator = np.random.default_rng(3)
    mine, theirs = generator.random(9), generator.random(9)
    found = stats.permutation_test(
        (mine, theirs), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=np.inf
    )
    assert one(mine - theirs) == pytest.approx(found.pvalue)


def test_many_differences_of_one_size_are_tested_as_by_the_sign_test():
    for wins, losses in ((60, 40), (52, 48), (70, 30)):
        found = one([0.1] * wins + [-0.1] * losses + [0.0] * 50)
        assert found == pytest.approx(sign_test(wins, losses), abs=0.015)


def test_many_differences_agree_with_scipys_permutation_test():
    generator = np.random.default_rng(5)
    mine = generator.random(200) + 0.03
    theirs = generator.random(200)
    found = stats.permutation_test(
        (mine, theirs), lambda a, b: np.mean(a - b), permutation_type="samples", rng=generator
    )
    assert one(mine - theirs) == pytest.approx(found.pvalue, abs=0.02)


def test_no_difference_is_no_evidence():
    assert one([0.0] * 30) == 1.0
    assert one([0.0]) == 1.0


def test_a_clear_difference_never_has_a_p_of_zero():
    assert one([1.0] * 100) == pytest.approx(1 / 10_001)
    assert one([1.0] * MOST_EXACT) == pytest.approx(2 / 2**MOST_EXACT)


def test_pairs_are_tested_each_as_if_alone():
    values = np.random.default_rng(7).random((50, 4))
    flipped = flipped_sums(values)
    together = sign_flips(values[:, [0]] - values[:, 1:], flipped[:, [0]] - flipped[:, 1:])
    alone = [one(values[:, 0] - values[:, other]) for other in (1, 2, 3)]
    assert together == pytest.approx(alone, abs=2e-4)


@pytest.mark.parametrize("seed", range(4))
def test_one_column_alone_has_the_p_of_all_flips_of_signs(seed):
    generator = np.random.default_rng(seed)
    values = generator.integers(-2, 4, size=9) / 4
    sums = [abs(np.dot(signs, values)) for signs in product((-1, 1), repeat=9)]
    exact = np.mean(np.array(sums) >= abs(values.sum()) - 1e-9)
    assert sign_flip_test(list(values)) == pytest.approx(exact, abs=0.02)


def test_one_column_without_differences_is_no_evidence():
    assert sign_flip_test([0.0, 0.0]) == 1.0
    assert sign_flip_test([]) == 1.0
    assert sign_flip_test([0.5] * 40) == pytest.approx(1 / 10_001)
