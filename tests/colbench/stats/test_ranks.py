from __future__ import annotations

import numpy as np
import pytest

from colbench.stats.ranks import describe_separability, places
from colbench.stats.resampling import flipped_sums, resampled_means


def columns(*means, tasks=200, spread=0.2, seed=0):
    """Return values of tasks by entries, in which the means of the entries are near `means`."""
    generator = np.random.default_rng(seed)
    return generator.normal(means, spread, size=(tasks, len(means)))


def test_entries_far_apart_have_certain_places():
    found = places(columns(0.2, 0.8, 0.5))
    assert found.place == found.low == found.high == (3, 1, 2)
    assert found.inseparable == ((), (), ())
    assert describe_separability(0, found) == "separable from every other entry"


def test_entries_close_to_each_other_share_an_interval():
    found = places(columns(0.500, 0.501, 0.9))
    assert found.place[2] == found.low[2] == found.high[2] == 1
    assert set(zip(found.low[:2], found.high[:2], strict=True)) == {(2, 3)}
    assert found.inseparable == ((1,), (0,), ())
    assert (
        describe_separability(found.place.index(2), found)
        == "not separable from 1 other, at rank 3"
    )


def test_entries_with_equal_results_share_a_place_and_its_interval():
    column = columns(0.5)
    found = places(np.hstack([column, column, column - 0.3]))
    assert found.place == (1, 1, 3)
    assert (found.low[:2], found.high[:2]) == ((1, 1), (2, 2))
    assert describe_separability(0, found) == "not separable from 1 other, at rank 1"


@pytest.mark.parametrize("tasks", [1, 3, 5])
def test_fewer_than_six_tasks_separate_no_entries(tasks):
    found = places(np.tile([0.0, 1.0], (tasks, 1)))
    assert found.place == (2, 1)
    assert (found.low, found.high) == ((1, 1), (2, 2))


def test_six_tasks_that_all_agree_separate_two_entries():
    assert places(np.tile([0.0, 1.0], (6, 1))).inseparable == ((), ())


def test_place_intervals_cover_the_places_of_most_resamples():
    values = columns(0.50, 0.51, 0.53, 0.56, 0.60, tasks=100, seed=4)
    found = places(values)
    generator = np.random.default_rng(9)
    drawn = [values[generator.integers(100, size=100)].mean(axis=0) for _ in range(2000)]
    for entry in range(5):
        held = [found.low[entry] <= 1 + (m > m[entry]).sum() <= found.high[entry] for m in drawn]
        assert np.mean(held) > 0.94


def test_a_single_entry_is_described_as_the_only_entry():
    assert describe_separability(0, places(columns(0.4))) == "the only entry"


def test_the_description_names_ranges_of_ranks_and_gaps():
    found = places(columns(*[0.5] * 4))
    assert (
        describe_separability(found.place.index(1), found)
        == "not separable from 3 others, at ranks 2 to 4"
    )
    assert (
        describe_separability(found.place.index(3), found)
        == "not separable from 3 others, at ranks 1 to 2 and 4"
    )


def test_resampled_means_have_the_standard_error_of_the_mean():
    values = columns(0.3, 0.7, tasks=150)
    resampled = resampled_means(values)
    assert resampled.mean(axis=0) == pytest.approx(values.mean(axis=0), abs=0.001)
    assert resampled.std(axis=0) == pytest.approx(values.std(axis=0) / 150**0.5, rel=0.03)


def test_all_columns_share_the_same_resamples_and_sign_flips():
    column = columns(0.4, tasks=37)
    both = resampled_means(np.hstack([column, column + 1]))
    assert both[:, 1] - both[:, 0] == pytest.approx(np.ones(len(both)))
    flips = flipped_sums(np.hstack([column, 2 * column]))
    assert flips[:, 1] == pytest.approx(2 * flips[:, 0], abs=1e-8)
    assert np.abs(flips[:, 0]).max() <= np.abs(column).sum() + 1e-8
