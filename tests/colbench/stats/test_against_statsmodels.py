"""Paired statistics compared with recorded values of statsmodels 0.15.0, which is not a dependency.

The calls that gave the values:

from statsmodels.stats.contingency_tables import mcnemar       # mcnemar([[40, b], [c, 30]], exact=True).pvalue
from statsmodels.stats.multitest import multipletests          # multipletests(p, method="holm")[1]
from statsmodels.stats.power import NormalIndPower             # NormalIndPower(ddof=0).solve_power(
                                                               #     d / s, power=.8, alpha=.05, ratio=0)
anova_lm(ols("x ~ C(task)", data).fit())                       # between = (MSB - MSW) / 4, within = MSW
"""

from __future__ import annotations

from math import ceil

import pytest

from colbench.stats import holm, mcnemar
from colbench.stats.power import least_detectable, tasks_needed, trials_needed, variances

CLUSTERS = [
    [-0.348, 0.42, 0.0, -0.58],
    [-0.19, -0.514, -0.354, -0.311],
    [-0.164, 0.216, 0.031, -0.127],
    [0.307, 0.433, -0.309, 0.107],
    [0.033, 0.275, -0.06, 0.333],
    [0.111, 0.031, -0.192, 0.003],
    [-0.338, -0.417, 0.057, -0.343],
    [0.294, 0.158, -0.656, 0.025],
    [-0.081, 0.26, 0.263, -0.347],
    [0.357, 0.35, 0.716, 0.073],
    [0.376, -0.175, 0.055, -0.098],
    [0.288, 0.024, 0.583, 0.046],
]


@pytest.mark.parametrize(
    ("only_mine", "only_theirs", "p"),
    [
        (0, 6, 0.03125),
        (9, 2, 0.0654296875),
        (25, 14, 0.10812902140605732),
        (120, 85, 0.017351090463147357),
        (7, 7, 1.0),
    ],
)
def test_mcnemars_exact_test_agrees_with_statsmodels(only_mine, only_theirs, p):
    assert mcnemar(only_mine, only_theirs) == pytest.approx(p, rel=1e-9)


def test_holms_adjustment_agrees_with_statsmodels():
    assert holm([0.01, 0.04, 0.03, 0.005, 0.2]) == pytest.approx([0.04, 0.09, 0.09, 0.025, 0.2])


@pytest.mark.parametrize(
    ("difference", "deviation", "tasks"),
    [(0.03, 0.5, 2180.239), (0.1, 0.4, 125.582), (0.25, 0.6, 45.209)],
)
def test_the_number_of_tasks_needed_agrees_with_statsmodels(difference, deviation, tasks):
    assert tasks_needed(difference, deviation) == ceil(tasks)
    assert tasks_needed(-difference, deviation) == ceil(tasks)


@pytest.mark.parametrize(
    ("tasks", "deviation", "least"), [(60, 0.5, 0.180841), (1000, 0.44, 0.0389813)]
)
def test_the_least_detectable_difference_agrees_with_statsmodels(tasks, deviation, least):
    assert least_detectable(deviation, tasks) == pytest.approx(least, rel=1e-5)


def test_variances_between_and_within_tasks_agree_with_statsmodels():
    assert variances(CLUSTERS) == pytest.approx((0.020971745265151526, 0.07530497916666667))


def test_variances_need_repeated_trials_and_several_tasks():
    assert variances([[0.1], [0.2], [0.3]]) is None
    assert variances([[0.1, 0.2]]) is None


def test_trials_needed_is_the_smallest_number_that_detects_the_difference():
    between, within = 0.02, 0.3
    needed = trials_needed(0.1, between, within, 40)
    assert needed is not None
    enough, too_few = (
        least_detectable((between + within / trials) ** 0.5, 40) for trials in (needed, needed - 1)
    )
    assert enough <= 0.1 < too_few


def test_no_number_of_trials_is_enough_if_the_tasks_differ_too_much():
    assert trials_needed(0.01, 0.2, 0.3, 40) is None


def test_tasks_needed_is_at_least_six_and_unknown_for_a_zero_difference():
    assert tasks_needed(0.0, 0.5) is None
    assert tasks_needed(1.0, 0.0) == 6
