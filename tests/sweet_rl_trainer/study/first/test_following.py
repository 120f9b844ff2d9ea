"""Correlates of success, against ranks computed by hand.

p, by Student's t: of four pairs 1 less the correlation; of five, +0.70 is t = 1.70 with three degrees of freedom.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sweet_rl_trainer.study.first.following import followed
from sweet_rl_trainer.study.first.results import Agreement, Credit, Critic

pytestmark = pytest.mark.weekly

NAMES = ("sweet", "no-privileged", "pmi", "mean-over-turns")


@pytest.fixture
def study(make):
    """`study(agreements, successes, method…)`: of 20 tasks each."""

    def of(shares, successes, names=NAMES):
        rows = [
            make.row(name, make.marks(n), seed=seed)
            for name, n in zip(names, successes, strict=True)
            for seed in (0, 1)
        ]
        critics = [Critic(method=name, seed=0, accuracy=(0.5, 0.4, 0.6)) for name in names]
        credits = [
            Credit(
                method=name,
                seed=0,
                agreements=(Agreement(kind="any two", pairs=9, share=(share, 0, 1)),),
            )
            for name, share in zip(names, shares, strict=True)
        ]
        return make.results(rows, critics=tuple(critics), credits=tuple(credits))

    return of


def cells(table):
    return [line.strip("| ").split(" | ") for line in table.split("\n")[2:]]


def test_the_correlation_is_that_of_ranks(study):
    found = followed(study((0.6, 0.5, 0.7, 0.8), (8, 2, 15, 9)))
    # ranks 2 1 3 4 and 2 1 4 3: 1 - 6 * 2 / (4 * 15)
    assert cells(found) == [["agreement with returns, any two", "4", "+0.80", "0.200"]]


def test_no_correlation_is_told_too(study):
    # ranks 1 2 3 4 and 2 4 1 3
    found = followed(study((0.5, 0.6, 0.7, 0.8), (5, 15, 2, 9)))
    assert cells(found) == [["agreement with returns, any two", "4", "0.00", "1.000"]]


def test_methods_that_differ_by_more_than_their_scores_are_left_out(study):
    names = (*NAMES, "anchored", "trajectory-mean-anchored", "returns")
    found = followed(study((0.6, 0.5, 0.7, 0.8, 0.9, 1, 1), (8, 2, 15, 9, 1, 0, 0), names))
    assert cells(found) == [["agreement with returns, any two", "4", "+0.80", "0.200"]]


def test_calibrated_replies_have_no_scores_of_dialogues(study):
    results = study((0.6, 0.5, 0.7, 0.8, 0.9), (8, 2, 15, 9, 11), (*NAMES, "calibrated"))
    accuracies = dict(zip((*NAMES, "calibrated"), (0.5, 0.6, 0.7, 0.8, 0.1), strict=True))
    critics = [replace(each, accuracy=(accuracies[each.method], 0, 1)) for each in results.critics]
    found = cells(followed(replace(results, critics=tuple(critics))))
    # all five: ranks 2 1 3 4 5 and 2 1 5 3 4, 1 - 6 * 6 / (5 * 24); of four 1 2 3 4 and 2 1 4 3
    assert found == [
        ["agreement with returns, any two", "5", "+0.70", "0.188"],
        ["pair accuracy", "4", "+0.60", "0.400"],
    ]


def test_a_few_methods_say_nothing(study, make):
    assert followed(study((0.6, 0.5, 0.7), (8, 2, 15), NAMES[:3])) is None
    assert followed(make.results()) is None
