from __future__ import annotations

import numpy as np
import pytest

from colbench.stats import mean_interval
from sweet_rl_trainer.study.first.methods import NAMED
from sweet_rl_trainer.study.first.tables import (
    adjusted_p,
    against,
    difference,
    find,
    full_label,
    on_tests,
    orderings,
    rows_of,
)

pytestmark = pytest.mark.weekly


def test_a_method_s_numbers_are_means_over_tasks(make):
    seeds = {
        0: make.outcomes({"a": "11", "b": "0-"}, turns=2, tokens=10),
        4: make.outcomes({"a": "0", "b": "00-1"}, turns=4, tokens=40),
    }
    found = find(seeds)
    # a: 2 of 3; b: 1 of 6
    assert found.success.mean == pytest.approx((2 / 3 + 1 / 6) / 2)
    clusters = [[1, 1, 0], [0, 0, 0, 0, 0, 1]]
    assert found.success == mean_interval(clusters)
    assert found.passed.mean == pytest.approx((5 / 6 + 3.5 / 6) / 2)
    assert found.seeds == {0: pytest.approx(1 / 2), 4: pytest.approx((0 + 1 / 4) / 2)}
    assert found.turns == pytest.approx(((2 + 2 + 4) / 3 + (2 * 2 + 4 * 4) / 6) / 2)
    assert found.unanswered == pytest.approx((0 + 2 / 6) / 2)
    assert found.reply == pytest.approx((4 * 10 + 5 * 40) / (4 * 2 + 5 * 4))


def test_of_nothing_there_are_no_numbers(make):
    assert find({}) is None
    assert find({0: ()}) is None
    silent = find({0: make.outcomes({"a": "-"}, turns=0, tokens=0)})
    assert silent.reply is None


def test_rows_that_were_not_tested_yet_are_left_out(make):
    rows = [
        make.row("rft", {}, seed=2),
        make.row("rft", {"a": "1"}, seed=1),
        make.row("rft", {"a": "0"}, seed=1),
        make.row("sweet", {"a": "1"}),
    ]
    results = make.results(rows)
    assert [each.seed for each in rows_of(results, "rft")] == [1, 2]
    assert on_tests(results, "rft") == {1: make.outcomes({"a": "0"})}


def test_differences_are_paired_by_task_and_seed(make):
    mine = {
        0: make.outcomes({"a": "11", "b": "10", "only mine": "1"}),
        1: make.outcomes({"a": "0", "b": "1"}),
        7: make.outcomes({"a": "1111"}),
    }
    theirs = {0: make.outcomes({"b": "00", "a": "1"}), 1: make.outcomes({"a": "1", "b": "0"})}
    found = difference(mine, theirs)
    # a: 0 with seed 0, −1 with seed 1; b: 1/2 and 1
    assert found.seeds == pytest.approx(((0 + 1 / 2) / 2, (-1 + 1) / 2))
    assert found.points == mean_interval([[0, -1], [0.5, 1]], (-1, 1))
    assert found.points.mean == pytest.approx((-1 / 2 + 3 / 4) / 2)
    assert found.verdict == "not decided"


def test_nothing_in_common_is_no_difference(make):
    assert difference({0: make.outcomes({"a": "1"})}, {1: make.outcomes({"a": "1"})}) is None
    assert difference({0: make.outcomes({"a": "1"})}, {0: make.outcomes({"b": "1"})}) is None


def test_an_interval_without_zero_decides(make):
    better, worse = ({0: make.outcomes(make.marks(n))} for n in (15, 3))
    assert difference(better, worse).verdict == "above"
    assert difference(worse, better).verdict == "below"
    assert difference(better, better).verdict == "not decided"


def test_p_values_are_adjusted_for_the_number_of_methods(make):
    found = against(make.whole(), "mtdpo")
    adjusted = adjusted_p(found)
    assert list(adjusted) == list(found)
    assert all(adjusted[name] >= each.p for name, each in found.items())
    assert adjusted_p({}) == {}


def test_an_interval_by_seed_is_student_s(make):
    # 5, 2 and 2 of 10: the mean is 3, the deviation sqrt(3), t(0.975, 2 degrees) = 4.30265
    mine = {seed: make.outcomes(make.marks(n, of=10)) for seed, n in enumerate((5, 2, 2))}
    theirs = {seed: make.outcomes(make.marks(0, of=10)) for seed in range(3)}
    assert difference(mine, theirs).by_seed == pytest.approx((0.3, 0.430265), abs=1e-5)
    assert difference({0: mine[0]}, theirs).by_seed is None


def test_with_several_seeds_both_intervals_decide(make):
    theirs = {seed: make.outcomes(make.marks(0)) for seed in range(3)}
    # the seeds' interval, in tasks of 20: 8 +- 4.97 in the first case, 8 +- 17.21 in the second
    for numbers, verdict in (((6, 8, 10), "above"), ((0, 12, 12), "not decided")):
        mine = {seed: make.outcomes(make.marks(n)) for seed, n in enumerate(numbers)}
        found = difference(mine, theirs)
        assert found.points.low > 0
        assert found.verdict == verdict
        assert difference(theirs, mine).verdict == verdict.replace("above", "below")


def test_methods_are_held_against_one_of_them(make):
    results = make.whole()
    found = against(results, "mtdpo")
    assert "mtdpo" not in found
    assert len(found) == len(NAMED) - 1
    assert found["sweet"].points.mean == pytest.approx((15 - 11) / 20)
    assert found["sweet"].seeds == pytest.approx([0.2] * 3)
    assert against(make.results(), "mtdpo") == {}


def test_the_paper_s_orderings(make):
    names = ("zero-shot", "rft", "mtdpo", "sweet")
    rows = [make.row(name, make.marks(n)) for name, n in zip(names, (18, 9, 9, 16), strict=True)]
    found = orderings(make.results(rows))
    assert len(found) == 7 * 6 // 2
    assert [each.paper for each in found] == sorted((each.paper for each in found), reverse=True)
    verdicts = {(each.better.name, each.worse.name): each.verdict for each in found}
    assert verdicts["sweet", "no-normalisation"] == "missing"
    assert verdicts["sweet", "rft"] == "as in the paper"
    assert verdicts["rft", "zero-shot"] == "reversed"
    assert verdicts["mtdpo", "rft"] == "not decided"


def test_the_paper_s_noise_is_that_of_its_thousand_tasks(make):
    (found,) = (
        each
        for each in orderings(make.results())
        if (each.better.name, each.worse.name) == ("sweet", "mtdpo")
    )
    assert found.paper == pytest.approx(6.0)
    variance = 0.404 * 0.596 / 1000 + 0.344 * 0.656 / 1000
    assert found.noise == pytest.approx(100 * 1.96 * np.sqrt(variance))


def test_a_label_needs_no_row_above_it():
    assert full_label(NAMED["no-privileged"]) == "SWEET-RL, without privileged information"
    assert full_label(NAMED["rft"]) == "Rejection fine-tuning"
