from __future__ import annotations

import numpy as np
import pytest

from colbench.stats import mean_interval, rounded, win_rate
from colbench.stats.differences import Measure, mean_estimates, win_shares
from colbench.stats.intervals import bootstrap_means
from colbench.stats.resampling import shared_bootstrap_means


def test_the_interval_of_a_difference_matches_its_own_bootstrap():
    means = np.random.default_rng(1).random((300, 3))
    first, second = Measure(means).differences(0, [1, 2], (-1.0, 1.0))
    for found, other in ((first, 1), (second, 2)):
        alone = mean_interval([[d] for d in means[:, 0] - means[:, other]], bounds=(-1.0, 1.0))
        assert found.mean == pytest.approx(alone.mean, abs=1e-6)
        assert [found.low, found.high] == pytest.approx([alone.low, alone.high], abs=0.006)


def test_shared_bootstrap_means_equal_separate_bootstrap_means():
    values = np.sort(np.random.default_rng(4).random(300))
    assert shared_bootstrap_means(values) == pytest.approx(bootstrap_means(values), abs=1e-9)


def test_equal_values_leave_room_for_unseen_tasks():
    values = np.full((20, 1), 0.5)
    found = mean_estimates(values, (0.0, 1.0))[0]
    alone = mean_interval([[0.5]] * 20)
    assert (found.mean, found.low, found.high) == pytest.approx((0.5, alone.low, alone.high))


def test_the_mean_of_win_shares_is_the_win_rate():
    generator = np.random.default_rng(2)
    mine, theirs = generator.integers(0, 4, (40, 3)) / 3, generator.integers(0, 4, (40, 2)) / 3
    shares = win_shares(mine, theirs, 0.001)
    assert shares.mean() == pytest.approx(win_rate(mine.tolist(), theirs.tolist(), 0.001).mean)


def test_values_within_epsilon_count_as_half_a_win():
    shares = win_shares(
        np.array([[0.5], [0.5], [0.502]]), np.array([[0.501], [0.502], [0.5]]), 0.001
    )
    assert shares.tolist() == [0.5, 0.0, 1.0]


def test_the_deviation_is_the_standard_deviation_of_the_difference():
    means = np.random.default_rng(3).random((50, 2))
    assert Measure(means).deviations(0, [1]) == pytest.approx(
        [np.std(means[:, 0] - means[:, 1], ddof=1)]
    )
    assert Measure(means[:1]).deviations(0, [1]) == [0.0]


def test_a_rounded_zero_has_no_sign():
    assert str(rounded(-1e-9)) == "0.0"
