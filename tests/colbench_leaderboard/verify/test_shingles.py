"""Shared shingles of near-copies, on small cases."""

from __future__ import annotations

import pytest

from colbench_leaderboard.verify.shingles import containment, pairs, runs

QUESTION = "is there a grace period that costs nothing and how long is it".split()


def test_runs_are_those_of_so_many_parts_in_a_row():
    assert len(runs(QUESTION, 5)) == len(QUESTION) - 4
    assert runs(["a"], 5) == runs(["a"], 3)
    assert runs([], 5) == frozenset()
    assert runs(["a b", "c"], 2) != runs(["a", "b c"], 2)


@pytest.mark.parametrize("more", [1, 2, 3])
def test_words_put_into_a_question_leave_most_of_its_pairs(more):
    longer = list(QUESTION)
    for number in range(more):
        longer.insert((number + 1) * len(longer) // (more + 1), f"indeed{number}")
    assert containment(pairs(QUESTION, 3), pairs(longer, 3)) >= 0.6


def test_the_same_words_in_another_order_have_few_pairs_in_common():
    assert containment(pairs(QUESTION, 3), pairs(QUESTION[::-1], 3)) < 0.2


def test_the_smaller_set_counts():
    assert containment(frozenset({1, 2}), frozenset({2, 3, 4})) == 0.5
    assert containment(frozenset(), frozenset({1})) == 0.0
    assert containment(frozenset(), frozenset()) == 1.0
