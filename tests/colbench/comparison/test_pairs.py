"""Comparisons of two runs by one measure, checked against SciPy and plain counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from colbench.comparison.model import Measure
from colbench.comparison.pairs import compare_values

SHARE = Measure(name="share", label="share", group="answer", bounds=(0.0, 1.0))
WORDS = Measure(
    name="words", label="words", group="effort", unit="", direction="lower", bounds=None
)


@pytest.fixture
def generator():
    return np.random.default_rng(7)


def cells(rows):
    return {(f"t{n}", "h"): dict(enumerate(row)) for n, row in enumerate(rows)}


def compared(mine, theirs, measure=SHARE, *, binary=False):
    return compare_values(measure, cells(mine), cells(theirs), binary=binary)


def test_the_difference_of_means_has_the_interval_of_scipys_bootstrap(generator):
    mine, theirs = generator.random((80, 3)), generator.random((80, 3)) * 0.8
    found = compared(mine.tolist(), theirs.tolist())
    differences = (mine - theirs).mean(axis=1)
    assert found.mean.mean == pytest.approx(mine.mean() - theirs.mean())
    assert (found.mine, found.theirs) == pytest.approx((mine.mean(), theirs.mean()))
    expected = stats.bootstrap(
        (differences,), np.mean, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    assert [found.mean.low, found.mean.high] == pytest.approx(list(expected), abs=0.004)
    assert (found.tasks, found.cells) == (80, 240)


def test_sign_flips_agree_with_scipys_permutation_test(generator):
    mine, theirs = generator.random((40, 1)), generator.random((40, 1)) * 0.85
    found = compared(mine.tolist(), theirs.tolist())
    expected = stats.permutation_test(
        (mine[:, 0], theirs[:, 0]),
        lambda a, b: np.mean(a - b),
        permutation_type="samples",
        n_resamples=20_000,
        rng=np.random.default_rng(1),
    )
    assert found.test.name == "sign flips"
    assert found.test.p == pytest.approx(expected.pvalue, abs=0.015)


def test_successes_with_one_trial_are_tested_with_mcnemars_exact_test(generator):
    mine, theirs = generator.integers(0, 2, (60, 1)), generator.integers(0, 2, (60, 1))
    found = compared(mine.tolist(), theirs.tolist(), binary=True)
    only = int((mine > theirs).sum()), int((mine < theirs).sum())
    assert (found.only_mine, found.only_theirs) == only
    assert (found.won, found.lost, found.tied) == (*only, 60 - sum(only))
    assert found.test.name == "McNemar"
    assert found.test.p == pytest.approx(stats.binomtest(only[0], sum(only), 0.5).pvalue)
    assert found.signs.p == found.test.p


def test_successes_with_several_trials_are_tested_with_sign_flips():
    found = compared([[1, 1], [1, 0]], [[0, 0], [1, 1]], binary=True)
    assert (found.only_mine, found.only_theirs, found.test.name) == (2, 1, "sign flips")


def test_only_cells_of_both_runs_count():
    mine = {("a", "h"): {0: 1.0, 1: 0.0}, ("b", "h"): {0: 1.0}, ("c", "h"): {0: 0.5}}
    theirs = {("a", "h"): {1: 1.0, 2: 0.0}, ("b", "h"): {0: 0.5}, ("c", "other"): {0: 0.0}}
    found = compare_values(SHARE, mine, theirs, binary=False)
    assert (found.tasks, found.cells) == (2, 2)
    assert found.mean.mean == pytest.approx((-1.0 + 0.5) / 2)
    assert (found.won, found.tied, found.lost) == (1, 0, 1)
    assert compare_values(SHARE, {("c", "h"): {0: 0.5}}, theirs, binary=False) is None


def test_a_difference_below_a_tenth_of_a_point_is_a_tie_and_half_a_win():
    found = compared([[0.5], [0.5], [0.9]], [[0.5005], [0.4], [0.1]])
    assert (found.won, found.tied, found.lost) == (2, 1, 0)
    assert found.win_rate.mean == pytest.approx(2.5 / 3)


def test_any_lower_value_wins_if_lower_is_better():
    found = compared([[10.0], [5.0], [7.0]], [[12.0], [5.0], [7.0001]], WORDS)
    assert (found.won, found.tied, found.lost) == (2, 1, 0)
    assert found.mean.mean < 0


def test_an_unbounded_measure_with_equal_differences_has_no_interval():
    found = compared([[3.0]] * 8, [[5.0]] * 8, WORDS)
    assert (found.mean.mean, found.mean.low, found.mean.high) == (-2.0, None, None)
    assert found.test.p == pytest.approx(2 / 2**8)


def test_a_single_task_gives_no_power_estimates():
    found = compared([[1.0]], [[0.0]])
    assert (found.least_detectable, found.tasks_needed, found.trials_needed) == (None, None, None)


@pytest.mark.parametrize("mine", [0.0, 1.0])
def test_tasks_with_equal_differences_give_no_power_estimates(mine):
    found = compared([[mine, mine]] * 20, [[0.0, 0.0]] * 20)
    assert (found.least_detectable, found.tasks_needed, found.trials_needed) == (None, None, None)


def test_the_number_of_trials_needed_is_known_only_for_repeated_trials(generator):
    once = compared([[1.0], [0.0], [1.0], [0.5]], [[0.0], [0.5], [0.5], [0.5]])
    assert once.trials_needed is None
    assert once.tasks_needed > 4
    noise = generator.normal(0, 1, (50, 2))
    several = compared((noise + 0.5).tolist(), np.zeros((50, 2)).tolist())
    assert several.trials_needed >= 1


def test_a_mean_difference_within_rounding_is_0_and_needs_no_tasks_or_trials():
    differences = [[0.1, 0.1], [0.2, 0.2], [-0.3, -0.3]] * 4
    found = compared(
        [[max(0.0, each) for each in row] for row in differences],
        [[max(0.0, -each) for each in row] for row in differences],
    )
    assert 0 < found.mean.mean < 1e-16
    assert found.least_detectable > 0
    assert (found.tasks_needed, found.trials_needed) == (None, None)


def test_no_difference_is_detectable_with_fewer_than_six_tasks(generator):
    mine, theirs = (generator.random((6, 2)).tolist() for _ in range(2))
    for tasks in (2, 5):
        few = compared(mine[:tasks], theirs[:tasks])
        assert (few.least_detectable, few.trials_needed) == (None, None)
        assert few.tasks_needed >= 6
    assert compared(mine, theirs).least_detectable > 0
