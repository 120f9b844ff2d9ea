"""Shared shingles of near-copies, on small cases."""

from __future__ import annotations

import pytest

from colbench_leaderboard.verify.shingles import containment, pairs, runs

QUESTION = "is there a grace period that costs nothing and how long is it".split()


def test_runs_are_all_sequences_of_the_given_length():
    assert len(runs(QUESTION, 5)) == len(QUESTION) - 4
    assert runs(["a"], 5) == runs(["a"], 3)
    assert runs([], 5) == frozenset()
    assert runs(["a b", "c"], 2) != runs(["a", "b c"], 2)


@pytest.mark.parametrize("more", [1, 2, 3])
def test_inserted_words_leave_most_pairs_of_a_question(more):
    longer = list(QUESTION)
    for number in range(more):
        longer.insert((number + 1) * len(longer) // (more + 1), f"indeed{number}")
    assert containment(pairs(QUESTION, 3), pairs(longer, 3)) >= 0.6


def test_reordered_words_share_few_pairs():
    assert containment(pairs(QUESTION, 3), pairs(QUESTION[::-1], 3)) < 0.2


def test_containment_is_relative_to_the_smaller_set():
    assert containment(frozenset({1, 2}), frozenset({2, 3, 4})) == 0.5
    assert containment(frozenset(), frozenset({1})) == 0.0
    assert containment(frozenset(), frozenset()) == 1.0
