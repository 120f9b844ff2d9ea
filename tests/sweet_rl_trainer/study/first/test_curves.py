from __future__ import annotations

import pytest

from colbench.stats import mean_interval
from sweet_rl_trainer.study.first.curves import (
    attempts,
    by_turns,
    curves_of,
    ends,
    mean_curve,
    scaling,
    spent,
)
from sweet_rl_trainer.study.first.results import Cost, Scaling

pytestmark = pytest.mark.weekly


def trained(make, seed, *steps, step=10, rate=1e-3):
    tries = [make.tried((0, "1111"), (99, "1111"), rate=1.0), make.tried(*steps)]
    return make.row("sweet", {}, seed=seed, tries=tries, rate=rate, step=step)


def test_the_curve_is_that_of_the_chosen_rate(make):
    rows = [
        trained(make, 0, (0, "0001"), (10, "0111")),
        trained(make, 1, (0, "0001"), (10, "")),  # not evaluated yet
        trained(make, 2, (0, "0001"), (10, "0111"), rate=5.0),  # of a rate that was not tried
        make.row("zero-shot", {}, tries=[make.tried((0, "0001"))]),
    ]
    results = make.results(rows)
    assert curves_of(results, "sweet") == {0: make.curve((0, "0001"), (10, "0111"))}
    assert curves_of(results, "zero-shot") == {}


def test_seeds_are_averaged_where_all_of_them_are(make):
    one = make.curve((0, "0001"), (10, "0111"), (12, "1111"))
    other = make.curve((0, "00-1"), (10, "-011"), (15, "1111"))
    first, second = mean_curve({0: one, 1: other})
    assert (first.step, second.step) == (0, 10)
    assert first.success.mean == pytest.approx(1 / 4)
    assert second.success == mean_interval([[0, 0], [1, 0], [1, 1], [1, 1]])
    assert second.values == pytest.approx(
        {"success, %": 5 / 8, "turns": 3, "unanswered, %": 1 / 8, "tokens of a reply": 10}
    )
    assert mean_curve({}) == []


def test_where_a_training_begins_is_best_and_ends(make):
    steps = [(0, "0000"), (5, "0001"), (10, "0111"), (15, "1---")]
    results = make.results([trained(make, 0, *steps), trained(make, 3, *steps, step=5)])
    found = ends(results, "sweet")
    assert found.steps == ((5, 5), (10, 5), (15, 15))
    assert [each.success.mean for each in (found.first, found.chosen, found.last)] == [
        pytest.approx(1 / 4),
        pytest.approx((3 / 4 + 1 / 4) / 2),
        pytest.approx(1 / 4),
    ]
    assert found.last.unanswered == pytest.approx(3 / 4)
    assert ends(make.results([trained(make, 0, *steps, step=7)]), "sweet") is None
    assert ends(results, "rft") is None


def test_all_trainings_are_listed(make):
    rows = [
        trained(make, 0, (0, "0001"), (10, "0111"), (20, "0111"), (30, "-000")),
        trained(make, 1, (0, "0001"), (10, "0111"), (20, "+111"), (30, "0000")),
        make.row("zero-shot", {}, tries=[make.tried((0, "0001"))]),
        make.row("rft", {}, tries=[make.tried((0, ""), rate=1e-3)]),
    ]
    chosen, other, again, _ = attempts(make.results(rows))
    assert (chosen.rate, chosen.chosen, other.rate, other.chosen) == (1e-3, True, 1.0, False)
    assert (chosen.first.step, chosen.first.success) == (10, 0.75)
    assert (chosen.best.step, chosen.best.success) == (10, 0.75)
    assert (chosen.last.step, chosen.last.success, chosen.last.unanswered) == (30, 0.0, 0.25)
    assert chosen.tokens == 1000
    assert (again.best.step, again.best.success) == (20, 0.75), (
        "of as many successes the one with more tests passed"
    )


def test_all_tasks_are_the_last_point_of_the_curve_over_data(make):
    def share(method, part, tasks, seed=0):
        test = make.outcomes(tasks)
        return Scaling(method=method, seed=seed, share=part, tasks=int(40 * part), test=test)

    parts = (
        share("sweet", 0.5, {"a": "0", "b": "1"}),
        share("sweet", 0.25, {"a": "0", "b": "0"}),
        share("sweet", 0.5, {"a": "1", "b": "1"}, seed=1),
        share("rft", 0.5, {"a": "1", "b": "0"}),
        share("mtdpo", 0.5, {}),
    )
    rows = [
        make.row("sweet", {"a": "1", "b": "1"}),
        make.row("sweet", {"a": "0", "b": "0"}, seed=2),  # which no share has
    ]
    found = scaling(make.results(rows, scaling=parts))
    assert list(found) == ["rft", "sweet"]
    assert [(each.share, each.tasks, each.found.success.mean) for each in found["sweet"]] == [
        (0.25, 10, 0.0),
        (0.5, 20, 0.75),
        (1.0, None, 1.0),
    ]
    assert [each.share for each in found["rft"]] == [0.5]


def test_dialogues_by_their_number_of_turns(make):
    seeds = {
        0: make.outcomes({"a": "110"}, turns=4) + make.outcomes({"b": "0"}, turns=2),
        1: make.outcomes({"a": "1-"}, turns=4),
    }
    assert by_turns(seeds) == {2: (1, 0), 4: (5, 3)}


def test_costs_are_told_apart_by_stage():
    costs = [
        Cost(key="a", stage="actor", method="sweet", seed=0, seconds=10, memory=5),
        Cost(key="b", stage="critic", method="sweet", seed=0, seconds=5, memory=None),
        Cost(key="c", stage="actor", method="sweet", seed=1, seconds=30, memory=7),
        Cost(key="d", stage="actor", method="", seed=1, seconds=1, memory=None),
    ]

    found = [(each.stage, each.seconds, each.memory) for each in spent(costs)]
    assert found == [("actor", (1, 10, 30), 7), ("critic", (5,), None)]
