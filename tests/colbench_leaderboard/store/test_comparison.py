from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from colbench_leaderboard.board.comparison import Comparisons
from colbench_leaderboard.board.results import Results
from colbench_leaderboard.verify.receipt import CellScore


def results(**entries):
    """Return the results of entries with a row of trials per task; names that start with "page" are frontend."""
    tasks = len(next(iter(entries.values())))
    bounds = (-1.0, 1.0) if all(name.startswith("page") for name in entries) else (0.0, 1.0)
    found = Results(tuple(f"t{n}" for n in range(tasks)), bounds)
    for name, rows in entries.items():
        found.add(
            name,
            [cell(name, f"t{n}", k, v) for n, row in enumerate(rows) for k, v in enumerate(row)],
        )
    return found


def cell(name, task, trial, value):
    return CellScore(
        task_id=task,
        trial=trial,
        value=value,
        success=None if name.startswith("page") else value == 1,
        turns=1,
        answered=True,
        agent_words=1,
        human_words=1,
    )


GENERATOR = np.random.default_rng(11)
MINE = GENERATOR.integers(0, 4, (60, 1)) / 3
THEIRS = GENERATOR.integers(0, 3, (60, 1)) / 2


def test_success_with_one_trial_per_task_is_compared_by_mcnemars_test():
    found = Comparisons(results(a=MINE, b=THEIRS)).pair("a", "b")
    only_mine = int(((MINE == 1) & (THEIRS < 1)).sum())
    only_theirs = int(((MINE < 1) & (THEIRS == 1)).sum())
    assert (found.success.only_mine, found.success.only_theirs) == (only_mine, only_theirs)
    assert found.success.test.name == "McNemar"
    expected = stats.binomtest(only_mine, only_mine + only_theirs, 0.5).pvalue
    assert found.success.test.p == pytest.approx(expected)
    assert found.success.mean.mean == pytest.approx((only_mine - only_theirs) / 60, abs=1e-6)


def test_values_are_compared_by_a_sign_flip_test():
    found = Comparisons(results(a=MINE, b=THEIRS)).pair("a", "b")
    expected = stats.permutation_test(
        (MINE[:, 0], THEIRS[:, 0]),
        lambda a, b: np.mean(a - b),
        permutation_type="samples",
        rng=np.random.default_rng(1),
    )
    assert found.value.test.name == "sign flips"
    assert found.value.test.p == pytest.approx(expected.pvalue, abs=0.02)
    assert found.value.mean.mean == pytest.approx((MINE - THEIRS).mean(), abs=1e-6)
    assert found.tasks == 60


def test_success_with_several_trials_is_compared_by_a_sign_flip_test():
    found = Comparisons(results(a=np.hstack([MINE, MINE]), b=THEIRS)).pair("a", "b")
    assert found.success.test.name == "sign flips"
    assert (found.success.only_mine, found.success.only_theirs) == (None, None)


def test_wins_are_counted_by_task_and_ties_are_half():
    found = Comparisons(
        results(a=[[1.0], [0.5], [0.5], [0.2]], b=[[0.0], [0.5], [0.5009], [0.6]])
    ).pair("a", "b")
    assert (found.wins.won, found.wins.lost, found.wins.tied) == (1, 1, 2)
    assert found.wins.rate.mean == 0.5
    assert found.wins.test.p == 1.0


def test_frontend_entries_are_compared_only_by_their_values():
    found = Comparisons(results(page_a=[[0.9]] * 30, page_b=[[0.8]] * 30)).pair("page_a", "page_b")
    assert found.success is None
    assert found.wins.won == 30
    assert found.words.startswith("ahead: +10.0 points in mean value")


def test_swapping_the_entries_only_changes_the_signs():
    comparisons = Comparisons(results(a=MINE, b=THEIRS))
    there, back = comparisons.pair("a", "b"), comparisons.pair("b", "a")
    assert there.value.mean.mean == -back.value.mean.mean
    assert there.value.mean.low == pytest.approx(-back.value.mean.high, abs=1e-6)
    assert there.value.test.p == back.value.test.p
    assert there.success.only_mine == back.success.only_theirs


def test_a_view_adjusts_p_values_with_holms_correction():
    comparisons = Comparisons(results(a=MINE, b=THEIRS, c=THEIRS[::-1], d=MINE[::-1]))
    view = comparisons.view("a")
    assert [each.theirs for each in view] == ["b", "c", "d"]
    for measure in ("value", "success"):
        tests = [getattr(each, measure).test for each in view]
        smallest = min(tests, key=lambda test: test.p)
        assert smallest.adjusted == pytest.approx(min(1, 3 * smallest.p))
        assert all(test.adjusted >= test.p for test in tests)
    alone = comparisons.pair("a", "b")
    assert alone.value.test.adjusted == alone.value.test.p == view[0].value.test.p
    assert alone.value.mean == view[0].value.mean


def test_the_only_entry_has_no_comparisons():
    assert Comparisons(results(a=MINE)).view("a") == ()


def test_entries_with_too_few_tasks_are_not_separable():
    found = Comparisons(results(a=[[1.0]] * 4, b=[[0.0]] * 4)).pair("a", "b")
    assert found.success.test.p == 0.125
    assert (
        found.words == "not separable: +100.0 points in success rate (-20.5 to +100.0), p = 0.125"
    )


@pytest.mark.parametrize(("tasks", "known"), [(5, False), (6, True)])
def test_the_least_detectable_difference_is_unknown_for_fewer_than_six_tasks(tasks, known):
    found = Comparisons(results(a=MINE[:tasks], b=THEIRS[:tasks])).pair("a", "b")
    assert (found.least_detectable is not None) == known


def test_the_verdict_states_whether_an_entry_is_ahead():
    comparisons = Comparisons(results(a=[[1.0]] * 40, b=[[0.0]] * 40, c=[[0.0]] * 40))
    ahead, _ = comparisons.view("a")
    assert ahead.words.startswith("ahead: +100.0 points in success rate")
    assert ahead.words.endswith("p < 0.001 (adjusted)")
    assert comparisons.pair("b", "a").words.startswith("behind: -100.0 points")
    assert comparisons.pair("b", "c").words.startswith("not separable: +0.0 points")
