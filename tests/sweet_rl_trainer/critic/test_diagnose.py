"""Diagnostics against scipy, numpy and brute force."""

from __future__ import annotations

import math
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from colbench.errors import UserError
from sweet_rl_trainer.critic.best_of import best_of_n, expected_best
from sweet_rl_trainer.critic.correlation import correlation, within
from sweet_rl_trainer.critic.diagnose import (
    diagnose,
    pair_accuracy,
)
from sweet_rl_trainer.examples import PairExample, Side

few = st.integers(-3, 3).map(float)  # many ties
some = st.lists(st.tuples(few, few), min_size=2, max_size=12)


def pair(task):
    side = Side(examples=(), trajectory="d", reward=1.0, turns=1, reply_tokens=1)
    return PairExample(chosen=side, rejected=side, task_hash=task)


def test_accuracy_is_the_mean_over_tasks_and_a_tie_is_half_right():
    pairs = [pair(task) for task in "aaaabc"]
    scores = [(1, 0), (2, 1), (0, 1), (0, 0), (0.5, 0.4), (-2, -1)]
    found = pair_accuracy(pairs, scores)
    assert found.mean == pytest.approx((2.5 / 4 + 1 + 0) / 3)
    assert found.low < found.mean < found.high
    assert pair_accuracy([], []).mean is None


@given(some)
def test_correlations_are_scipy_s(pairs):
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    scores, sizes = zip(*pairs, strict=True)
    assume(len(set(scores)) > 1 and len(set(sizes)) > 1)
    found = correlation(scores, sizes)
    assert found.pearson == pytest.approx(stats.pearsonr(scores, sizes).statistic, abs=1e-9)
    assert found.spearman == pytest.approx(stats.spearmanr(scores, sizes).statistic, abs=1e-9)
    assert found.pearson == pytest.approx(np.corrcoef(scores, sizes)[0, 1], abs=1e-9)
    assert found.count == len(pairs)


def test_a_monotone_relation_is_whole_in_ranks_only():
    found = correlation([1.0, 2.0, 3.0, 4.0], [1.0, 8.0, 27.0, 640.0])
    assert found.spearman == pytest.approx(1)
    assert found.pearson < 0.9


@pytest.mark.parametrize("scores", [[], [1.0], [0.1, 0.1, 0.1]])
def test_what_never_varies_goes_with_nothing(scores):
    found = correlation(scores, [float(n) for n in range(len(scores))])
    assert (found.pearson, found.spearman, found.count) == (None, None, len(scores))
    found = within([(scores, [float(n) for n in range(len(scores))])] * 2)
    assert (found.pearson, found.spearman) == (None, None)
    assert within([]).count == 0


def test_lists_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="do not make pairs"):
        correlation([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="2 rewards and 1 scores"):
        expected_best([1, 0], [1], 1)


@given(st.lists(some, min_size=1, max_size=4))
def test_within_turns_what_differs_between_them_does_not_count(groups):
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    sides = [tuple(zip(*group, strict=True)) for group in groups]
    moved = [
        ([score + 100 * n for score in scores], [size - 50 * n for size in sizes])
        for n, (scores, sizes) in enumerate(sides)
    ]
    centred = [np.concatenate([np.subtract(p[k], np.mean(p[k])) for p in sides]) for k in (0, 1)]
    assume(all(any(len(set(pair[k])) > 1 for pair in sides) for k in (0, 1)))
    found = within(moved)
    assert found.pearson == pytest.approx(np.corrcoef(*centred)[0, 1], abs=1e-9)
    ranks = [
        np.concatenate([stats.rankdata(pair[k]) - (len(pair[k]) + 1) / 2 for pair in sides])
        for k in (0, 1)
    ]
    assert found.spearman == pytest.approx(np.corrcoef(*ranks)[0, 1], abs=1e-9)
    assert found.count == sum(map(len, groups))


def brute_force(rewards, scores, count):
    """The mean over all orders of breaking ties and all draws."""
    total, times = 0.0, 0
    for order in permutations(range(len(rewards))):
        for draw in combinations(range(len(rewards)), count):
            best = max(draw, key=lambda n: (scores[n], order[n]))
            total, times = total + rewards[best], times + 1
    return total / times


@given(
    st.lists(
        st.tuples(st.integers(0, 4).map(lambda n: n / 4), st.integers(0, 3)), min_size=1, max_size=5
    )
)
def test_best_of_n_is_the_mean_over_all_draws(candidates):
    rewards, scores = zip(*candidates, strict=True)
    for count in range(1, len(candidates) + 1):
        expected = brute_force(rewards, scores, count)
        assert expected_best(rewards, scores, count) == pytest.approx(expected, abs=1e-12)


def test_the_curve_is_the_mean_over_groups():
    good = ([0.0, 0.0, 1.0], [1.0, 2.0, 3.0])  # by a critic that is right
    bad = ([0.0, 0.0, 1.0], [3.0, 2.0, 1.0])
    curve = best_of_n([good, bad], [1, 2, 3])
    assert [each.count for each in curve] == [1, 2, 3]
    assert [each.reward.mean for each in curve] == pytest.approx([1 / 3, (2 / 3 + 0) / 2, 1 / 2])
    (blind,) = best_of_n([([1.0, 0.0, 0.0, 0.0], [5.0] * 4)], [3])
    assert blind.reward.mean == pytest.approx(0.25)


def test_many_candidates_are_no_trouble():
    rewards = [float(n % 2) for n in range(2000)]
    scores = [float(n) for n in range(2000)]
    assert math.isclose(expected_best(rewards, scores, 2000), 1.0)
    assert expected_best(rewards, scores, 1) == pytest.approx(0.5)


@pytest.mark.parametrize("count", [0, 3])
def test_more_than_there_are_cannot_be_drawn(count):
    with pytest.raises(UserError, match=f"best of {count}: every group must have so many"):
        best_of_n([([1.0, 0.0], [0.0, 1.0]), ([1.0] * 9, [0.0] * 9)], [1, count])


def test_a_critic_that_likes_length_is_found_out():
    pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
    from sweet_rl_trainer.ranking.score import Scored

    def side(name, turns, tokens):
        return Side(examples=(), trajectory=name, reward=0.0, turns=turns, reply_tokens=tokens)

    best = side("best", 3, 40)
    pairs = [
        PairExample(chosen=best, rejected=side(name, turns, tokens), task_hash="a" * 64)
        for name, turns, tokens in (("short", 1, 35), ("medium", 2, 20), ("long", 9, 10))
    ]
    ranked = [
        Scored(candidates=None, scores=(1.0, None, 2.0), lengths=(5, 9, 7)),
        Scored(candidates=None, scores=(-7.0, -9.0), lengths=(60, 50)),
    ]
    found = diagnose(pairs, [(3.0, 1.0), (3.0, 2.0), (3.0, 9.0)], ranked)
    assert found.accuracy.mean == pytest.approx(2 / 3)
    assert found.by_turns.pearson == pytest.approx(1)
    assert (found.by_turns.count, found.by_length.count) == (4, 4)
    assert found.by_length.spearman == pytest.approx(np.corrcoef([3, 1, 2, 4], [4, 3, 2, 1])[0, 1])
    assert found.candidates_by_length.spearman == pytest.approx(1)
    assert found.candidates_by_length.count == 4
    assert diagnose(pairs, [(1.0, 0.0)] * 3).candidates_by_length.pearson is None
