from __future__ import annotations

import pytest

from colbench import numbers
from colbench.stats import Interval

NOTHING = Interval(mean=None, low=None, high=None, method="none")


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        (0, "0"),
        (9_999, "9,999"),
        (12_345, "12.3 k"),
        (999_940, "999.9 k"),
        (999_950, "1.0 M"),
        (4_560_000, "4.6 M"),
        (999_960_000, "1.0 G"),
        (2_000_000_000, "2.0 G"),
        (1_200_000_000_000, "1200.0 G"),
    ],
)
def test_large_numbers_are_shortened(amount, expected):
    assert numbers.short(amount) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.42, "0.4 s"),
        (9.97, "10 s"),
        (42.4, "42 s"),
        (59.9, "1 min 0 s"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
        (4_000_000, "1,111 h 6 min"),
    ],
)
def test_durations_have_at_most_two_units(seconds, expected):
    assert numbers.duration(seconds) == expected


@pytest.mark.parametrize(
    ("amount", "expected"),
    [(None, "unknown"), (0.0, "$0.00"), (0.0049, "$0.0049"), (1234.5, "$1,234.50")],
)
def test_prices_are_in_dollars_and_a_missing_price_is_unknown(amount, expected):
    assert numbers.dollars(amount) == expected


def test_differences_carry_a_sign_and_zero_does_not():
    assert [numbers.signed(value) for value in (1.26, -1.26, 0.04, -0.04)] == [
        "+1.3",
        "−1.3",
        "0.0",
        "0.0",
    ]
    assert [numbers.signed(value, 2) for value in (0.794, 0.004)] == ["+0.79", "0.00"]


def test_an_interval_names_its_method_unless_it_is_a_bootstrap():
    exact = Interval(mean=0.0, low=0.0, high=0.3, method="exact")
    assert numbers.percent_range(exact) == "0.0 to 30.0%, exact"
    assert numbers.percent_with_range(exact) == "0.0% (0.0 to 30.0, exact)"
    assert numbers.percent_range(NOTHING) == "no interval"


def test_a_mean_is_shown_with_its_interval():
    share = Interval(mean=0.423, low=0.391, high=0.4542, method="bootstrap")
    assert numbers.percent_with_range(share) == "42.3% (39.1 to 45.4)"
    assert numbers.percent_with_range(NOTHING) == "–"
    difference = Interval(mean=-0.012, low=-0.02, high=0.004, method="bootstrap")
    assert numbers.points_with_range(difference) == "−1.2 (−2.0 to +0.4)"
    assert numbers.points_with_range(NOTHING) == "–"


def test_a_p_value_has_three_decimals():
    found = [numbers.p_value(each) for each in (None, 0.0004, 0.0124, 0.31, 1)]
    assert found == ["–", "< 0.001", "0.012", "0.310", "1.000"]


def test_memory_is_shown_in_the_unit_that_fits():
    found = [numbers.memory(each) for each in (None, 640 * 2**20, 2**30 - 1, 3 * 2**29)]
    assert found == ["–", "640 MiB", "1.0 GiB", "1.5 GiB"]


@pytest.mark.parametrize(
    ("value", "expected"), [(999.94, "999.9"), (999.96, "1,000"), (-1234.5, "-1,234")]
)
def test_a_number_that_is_rounded_to_1000_has_no_decimals(value, expected):
    assert numbers.amount(value) == expected
