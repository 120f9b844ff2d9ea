from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import pytest

from colbench.stats import Interval, mean_interval, pass_hat, pass_k, win_rate

NOTHING = Interval(mean=None, low=None, high=None, method="none")


def test_the_bootstrap_interval_matches_that_of_all_possible_resamples():
    sample = [0.0, 0.1, 0.4, 0.7, 1.0]
    everything = [sum(resample) / 5 for resample in product(sample, repeat=5)]
    expected = np.quantile(everything, [0.025, 0.975])
    interval = mean_interval([value] for value in sample)
    assert interval.mean == pytest.approx(0.44)
    assert [interval.low, interval.high] == pytest.approx(expected, abs=0.021)
    assert interval.method == "bootstrap"


def test_a_rate_over_many_tasks_agrees_with_the_normal_approximation():
    interval = mean_interval([[1.0]] * 400 + [[0.0]] * 600)
    half = 1.959964 * (0.4 * 0.6 / 1000) ** 0.5
    assert interval.mean == pytest.approx(0.4)
    assert [interval.low, interval.high] == pytest.approx([0.4 - half, 0.4 + half], abs=0.001)


def test_trials_of_one_task_count_as_one_observation():
    together = mean_interval([[1.0] * 50, [0.0] * 50, [1.0] * 50, [0.0] * 50])
    assert together == mean_interval([[1.0], [0.0], [1.0], [0.0]])


def test_every_task_has_the_same_weight_regardless_of_its_number_of_trials():
    assert mean_interval([[1.0, 1.0, 1.0], [0.0]]).mean == 0.5


def test_tasks_without_a_value_are_left_out():
    assert mean_interval([[1.0], [], [0.0]]) == mean_interval([[1.0], [0.0]])


def test_the_order_of_the_tasks_does_not_matter():
    values = [[value / 7] for value in range(7)]
    assert mean_interval(values) == mean_interval(values[::-1])


def test_the_mean_and_the_interval_are_unknown_without_values():
    assert mean_interval([]) == NOTHING
    assert mean_interval([[], []]) == NOTHING


@pytest.mark.parametrize("tasks", [1, 5, 1000])
def test_the_interval_is_clopper_pearson_if_every_task_failed(tasks):
    interval = mean_interval([[0.0]] * tasks)
    assert (interval.mean, interval.low, interval.method) == (0.0, 0.0, "exact")
    assert interval.high is not None
    assert (1 - interval.high) ** tasks == pytest.approx(0.025)


def test_the_interval_is_mirrored_if_every_task_succeeded():
    failed, succeeded = mean_interval([[0.0]] * 20), mean_interval([[1.0]] * 20)
    assert succeeded.high == 1.0
    assert succeeded.low == pytest.approx(1 - (failed.high or 0))


def test_equal_values_inside_the_bounds_allow_for_unseen_tasks_on_both_sides():
    interval = mean_interval([[0.1, 0.2, 0.3]] * 2)
    unseen = 1 - 0.025**0.5
    assert interval.low == pytest.approx(0.2 - 0.2 * unseen)
    assert interval.high == pytest.approx(0.2 + 0.8 * unseen)


def test_zero_differences_have_an_interval_on_both_sides_of_zero():
    interval = mean_interval([[0.0]] * 10, bounds=(-1.0, 1.0))
    assert interval.low == pytest.approx(-(interval.high or 0))
    assert interval.low < 0


def test_equal_values_of_an_unbounded_quantity_have_no_interval():
    assert mean_interval([[3.0], [3.0]], bounds=None) == Interval(
        mean=3.0, low=None, high=None, method="none"
    )


@pytest.mark.slow
def test_the_interval_covers_the_truth_at_about_its_confidence_level():
    draws = np.random.default_rng(1).random((300, 100)) < 0.3
    intervals = [mean_interval([[float(value)] for value in row]) for row in draws]
    covered = sum((each.low or 0) <= 0.3 <= (each.high or 0) for each in intervals)
    assert 0.90 <= covered / 300 <= 0.98


@pytest.mark.parametrize(("successes", "trials"), [(0, 3), (2, 3), (3, 5), (5, 5)])
def test_pass_hat_is_the_share_of_all_choices_of_k_trials_that_all_succeed(successes, trials):
    results = [True] * successes + [False] * (trials - successes)
    for k in range(1, trials + 1):
        choices = list(combinations(results, k))
        expected = Fraction(sum(all(choice) for choice in choices), len(choices))
        assert pass_hat(successes, trials, k) == pytest.approx(float(expected))


def test_pass_hat_is_unbiased():
    chance, trials, k = 0.7, 4, 2
    expectation = sum(
        comb(trials, c) * chance**c * (1 - chance) ** (trials - c) * pass_hat(c, trials, k)
        for c in range(trials + 1)
    )
    assert expectation == pytest.approx(chance**k)


def test_pass_k_averages_over_tasks():
    tasks = [[True, True, False], [True, True, True], [False, False, False]]
    assert pass_k(tasks, 1).mean == pytest.approx((2 / 3 + 1 + 0) / 3)
    assert pass_k(tasks, 2).mean == pytest.approx((1 / 3 + 1 + 0) / 3)
    assert pass_k(tasks, 3).mean == pytest.approx(1 / 3)


def test_pass_k_leaves_out_tasks_with_fewer_than_k_trials():
    assert pass_k([[True, True], [False]], 2).mean == 1.0
    assert pass_k([[True], [False]], 2) == NOTHING


def test_the_win_rate_is_the_share_of_tasks_won_with_ties_counted_half():
    mine = [[0.8], [0.5], [0.30], [0.9], [0.2]]
    theirs = [[0.6], [0.6], [0.31], [0.1], [0.2]]
    assert win_rate(mine, theirs, epsilon=0.05).mean == pytest.approx((1 + 0 + 0.5 + 1 + 0.5) / 5)
    assert win_rate(mine, theirs, epsilon=0.0).mean == pytest.approx((1 + 0 + 0 + 1 + 0.5) / 5)


def test_a_difference_of_exactly_epsilon_is_a_tie_despite_binary_rounding():
    assert 0.71 - 0.70 > 0.01
    assert win_rate([[0.71]], [[0.70]], epsilon=0.01).mean == 0.5
    assert win_rate([[0.70]], [[0.71]], epsilon=0.01).mean == 0.5


def test_the_win_rate_of_a_task_compares_every_pair_of_trials():
    rate = win_rate([[0.9, 0.5, 0.1], [1.0]], [[0.4, 0.6], [0.0]], epsilon=0.0)
    assert rate.mean == pytest.approx((3 / 6 + 1) / 2)


def test_the_win_rates_of_two_runs_against_each_other_add_up_to_one():
    draws = np.random.default_rng(2).random((2, 50, 3)).round(1)
    there = win_rate(list(draws[0]), list(draws[1]), epsilon=0.1)
    back = win_rate(list(draws[1]), list(draws[0]), epsilon=0.1)
    assert there.mean == pytest.approx(1 - (back.mean or 0))
    assert there.mean not in (0, 0.5, 1)


def test_the_interval_of_a_win_rate_is_the_mean_interval_of_task_wins():
    mine, theirs = [[1.0]] * 30 + [[0.0]] * 20, [[0.5]] * 50
    assert win_rate(mine, theirs, epsilon=0.0) == mean_interval([[1.0]] * 30 + [[0.0]] * 20)


def test_tasks_without_values_on_either_side_are_left_out_of_the_win_rate():
    assert win_rate([[1.0], [], [0.0]], [[0.0], [1.0], []], epsilon=0.0).mean == 1.0
    assert win_rate([[1.0]], [[]], epsilon=0.0) == NOTHING


def test_lists_of_different_lengths_cannot_be_compared():
    with pytest.raises(ValueError, match="zip"):
        win_rate([[1.0], [0.0]], [[1.0]], epsilon=0.0)
