from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from colbench.stats.power import least_detectable, typical_least_detectable


def test_the_least_detectable_difference_is_found_in_80_percent_of_samples():
    least = least_detectable(deviation=2.0, tasks=400)
    samples = np.random.default_rng(1).normal(least, 2.0, size=(4000, 400))
    found = stats.ttest_1samp(samples, 0.0, axis=1).pvalue < 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.02)


def test_four_times_the_tasks_halve_the_least_detectable_difference():
    assert least_detectable(1.0, 400) == pytest.approx(least_detectable(1.0, 100) / 2)


def test_the_typical_least_detectable_difference_is_the_median_over_all_pairs():
    values = np.random.default_rng(2).random((60, 5))
    pairs = [
        least_detectable(float(np.std(values[:, a] - values[:, b], ddof=1)), 60)
        for a, b in combinations(range(5), 2)
    ]
    assert typical_least_detectable(values) == pytest.approx(np.median(pairs))


def test_one_entry_or_five_tasks_have_no_typical_least_detectable_difference():
    assert typical_least_detectable(np.ones((9, 1))) is None
    assert typical_least_detectable(np.ones((5, 9))) is None
