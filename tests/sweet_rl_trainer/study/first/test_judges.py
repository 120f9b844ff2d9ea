"""The value of scores over seeds, against averages computed by hand."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from colbench.stats import mean_interval
from sweet_rl_trainer.study.first.judges import averaged, distinct, distinct_timings, judges
from sweet_rl_trainer.study.first.methods import TURNS
from sweet_rl_trainer.study.first.results import Critic, Timing

pytestmark = pytest.mark.weekly


def critic(seed, accuracy, best_of, method="pmi"):
    return Critic(
        method=method,
        seed=seed,
        pairs=10,
        accuracy=accuracy,
        with_turns=0.5 + seed,
        best_of=best_of,
    )


def test_critics_are_averaged_over_seeds(make):
    found = (
        critic(0, (0.6, 0.5, 0.7), ((1, 0.2, 0.1, 0.3), (2, 0.4, 0.3, 0.5))),
        critic(1, (0.8, 0.6, 0.9), ((1, 0.3, 0.1, 0.5), (2, 0.5, 0.4, 0.6), (4, 0.9, 0.8, 1.0))),
        critic(0, (0.5, 0.4, 0.6), (), method="sweet"),
    )
    sweet, pmi = judges(make.results(critics=found))
    assert sweet.method.name == "sweet"
    assert (pmi.pairs, pmi.with_turns) == (10, 1.0)
    assert pmi.accuracy == pytest.approx((0.7, 0.55, 0.8))
    assert [n for n, _ in pmi.best_of] == [1, 2]
    assert pmi.best_of[1][1] == pytest.approx((0.45, 0.35, 0.55))


def test_accuracy_of_as_many_turns_is_averaged_where_all_seeds_have_it(make):
    one, other = critic(0, (0.6, 0.5, 0.7), ()), critic(1, (0.8, 0.6, 0.9), ())
    both = [
        replace(one, matched=(0.5, 0.3, 0.7), matched_pairs=4),
        replace(other, matched=(0.7, 0.5, 0.9), matched_pairs=4),
    ]
    (found,) = judges(make.results(critics=both))
    assert found.matched_pairs == 4
    assert found.matched == pytest.approx((0.6, 0.4, 0.8))
    (found,) = judges(make.results(critics=(both[0], other)))
    assert found.matched is None


def test_scores_that_several_methods_have_are_told_of_once(make):
    found = judges(
        make.results(
            critics=[
                replace(critic(0, (0.8, 0.7, 0.9), (), "sweet"), scores="one", learnt=5),
                replace(critic(1, (0.8, 0.7, 0.9), (), "sweet"), scores="two", learnt=7),
                replace(critic(0, (0.8, 0.7, 0.9), (), "anchored"), scores="one"),
                replace(critic(0, (0.6, 0.5, 0.7), ()), scores="three"),
                critic(0, (0.7, 0.6, 0.8), (), TURNS.name),
            ]
        )
    )
    kept = distinct(found)
    assert [each.method.name for each in kept] == ["sweet", "pmi", "turns"]
    assert [[one.name for one in each.others] for each in kept] == [["anchored"], [], []]
    assert kept[0].learnt == (5, 7)


def test_when_to_answer_is_told_once_of_scores_that_the_first_seed_shares(make):
    def timed(method, seed, share):
        timing = Timing(hidden=0, turns=5, share=(share, 0.0, 1.0))
        return replace(critic(seed, (0.6, 0.5, 0.7), (), method), timing=(timing,))

    found = judges(
        make.results(
            critics=[
                timed("sweet", 1, 0.9),
                timed("sweet", 0, 0.2),
                timed("anchored", 0, 0.2),
                timed("pmi", 0, 0.55),
                critic(0, (0.7, 0.6, 0.8), (), TURNS.name),
            ]
        )
    )
    kept = {each.method.name: each.timing for each in distinct_timings(found)}
    assert list(kept) == ["sweet", "pmi"]
    assert kept["sweet"] == ((0, (pytest.approx(0.55), 0.0, 1.0), 10),)


def test_the_number_of_turns_stands_after_the_critics(make):
    found = [critic(0, (0.8, 0.7, 0.9), (), TURNS.name), critic(0, (0.6, 0.5, 0.7), ())]
    assert [each.method.name for each in judges(make.results(critics=found))] == ["pmi", "turns"]


def test_averaged_intervals_are_no_narrower_than_that_of_the_average():
    seeds = [[[1, 0], [0, 0], [1, 1], [0, 1], [1, 1]], [[0, 0], [0, 1], [1, 1], [1, 1], [0, 1]]]
    each = [mean_interval(clusters) for clusters in seeds]
    mean, low, high = averaged([(one.mean, one.low, one.high) for one in each])
    joint = mean_interval([first + second for first, second in zip(*seeds, strict=True)])
    assert mean == pytest.approx(joint.mean)
    assert high - low >= joint.high - joint.low
