"""Pairs of dialogues about the same task."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from colbench.errors import DataError, UserError
from sweet_rl_trainer.data.pairs import make_pairs


@pytest.fixture
def dialogue(trajectory):
    """Return `dialogue(task, reward, turns)`: a dialogue about a task, with a reward and a number of turns."""

    def build(task, reward, turns=1, ended_by="answer"):
        words = [f"w{n}" for n in range(turns)]
        return trajectory(words, words, task_hash=task, reward=reward, ended_by=ended_by)

    return build


def ids(pairs):
    return [(pair.chosen.id, pair.rejected.id) for pair in pairs]


def test_the_first_dialogue_with_reward_1_is_paired_with_every_worse_one(dialogue):
    a, b, c, d = (dialogue("x", reward) for reward in (0.5, 1.0, 0.0, 1.0))
    other = [dialogue("y", 0.9), dialogue("y", 0.1)]
    without = Counter()
    pairs = make_pairs([a, other[0], b, c, other[1], d], without=without)
    assert ids(pairs) == [(b.id, a.id), (b.id, c.id)]
    assert without == {"no reward of 1": 1}


def test_the_best_dialogue_is_chosen_if_rewards_exceed_1(dialogue):
    a, b, c = (dialogue("x", reward) for reward in (1.0, 2.0, 0.0))
    assert ids(make_pairs([a, b, c])) == [(b.id, a.id), (b.id, c.id)]


def test_all_dialogues_that_differ_by_the_margin_are_paired(dialogue):
    a, b, c = (dialogue("x", reward) for reward in (0.8, 0.9, 0.65))
    assert ids(make_pairs([a, b, c], "all-ordered", margin=0.1)) == [
        (b.id, a.id),  # 0.9 - 0.8 is a little less than 0.1 in floating point
        (a.id, c.id),
        (b.id, c.id),
    ]
    assert ids(make_pairs([a, b, c], "all-ordered", margin=0.2)) == [(b.id, c.id)]


REWARDS = st.integers(0, 10).map(lambda tenths: tenths / 10)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    given=st.lists(
        st.tuples(st.sampled_from("xyz"), REWARDS, st.integers(1, 3)), min_size=1, max_size=12
    ),
    rule=st.sampled_from(["best-vs-worse", "all-ordered"]),
    match=st.booleans(),
    margin=st.integers(0, 4),
)
def test_pairs_follow_the_rule_for_any_rewards_and_turns(dialogue, given, rule, match, margin):
    dialogues = [dialogue(*each) for each in given]
    allowed = {
        (one.id, other.id)
        for one in dialogues
        for other in dialogues
        if one.task_hash == other.task_hash
        and one.reward > other.reward
        and not (match and len(one.replies) != len(other.replies))
        and (
            one.reward == 1
            if rule == "best-vs-worse"
            else round(10 * one.reward) - round(10 * other.reward) >= margin
        )
    }
    if not allowed:
        with pytest.raises(DataError, match=f"pairs {rule}: no task has a pair"):
            make_pairs(dialogues, rule, match_turns=match, margin=margin / 10)
        return
    without = Counter()
    pairs = make_pairs(dialogues, rule, match_turns=match, margin=margin / 10, without=without)
    found = ids(pairs)
    assert len(found) == len(set(found))
    if rule == "all-ordered":
        assert set(found) == allowed
    else:
        assert set(found) <= allowed
        assert sorted(one for _, one in found) == sorted({one for _, one in allowed})
    tasks = {each.task_hash for each in dialogues}
    assert len(tasks) == without.total() + len({pair.chosen.task_hash for pair in pairs})


def test_matched_pairs_have_equal_numbers_of_turns(dialogue):
    short, long = dialogue("x", 1.0, 2), dialogue("x", 1.0, 4)
    losers = [dialogue("x", 0.0, turns) for turns in (2, 4, 5)]
    pairs = make_pairs([short, long, *losers], match_turns=True)
    assert ids(pairs) == [(short.id, losers[0].id), (long.id, losers[1].id)]
    assert ids(make_pairs([short, long, *losers])) == [(short.id, each.id) for each in losers]


def test_dialogues_that_hit_the_limit_are_rejected_at_any_number_of_turns(dialogue):
    won, lost = dialogue("x", 1.0, 2), dialogue("x", 0.0, 2)
    truncated = dialogue("x", 0.0, 10, "limit")
    others = [
        dialogue("x", 0.0, 10),
        dialogue("x", 1.0, 10, "limit"),
        dialogue("y", 0.0, 10, "limit"),
    ]
    pairs = make_pairs([won, lost], match_turns=True, limit_negatives=[truncated, *others])
    assert ids(pairs) == [(won.id, lost.id), (won.id, truncated.id)]
    again = make_pairs([won, lost, truncated], match_turns=True, limit_negatives=[truncated])
    assert ids(again) == ids(pairs)
    once = make_pairs([won, lost, truncated], limit_negatives=[truncated])
    assert ids(once) == ids(pairs)
    alone = make_pairs([won], limit_negatives=[truncated])
    assert ids(alone) == [(won.id, truncated.id)]


def test_tasks_without_a_pair_are_counted_by_reason(dialogue):
    pair = [dialogue("e", 1.0), dialogue("e", 0.0)]
    lone = [dialogue("a", 1.0)]
    equal = [dialogue("b", 1.0), dialogue("b", 1.0)]
    unsolved = [dialogue("c", 0.9), dialogue("c", 0.0)]
    uneven = [dialogue("d", 1.0, 1), dialogue("d", 0.0, 2)]
    without = Counter()
    make_pairs([*lone, *equal, *unsolved, *uneven, *pair], match_turns=True, without=without)
    assert without == {
        "only one dialogue": 1,
        "equal rewards": 1,
        "no reward of 1": 1,
        "no pair with the same number of turns": 1,
    }
    close = [dialogue("f", 0.5), dialogue("f", 0.45)]
    without = Counter()
    make_pairs([*close, *pair], "all-ordered", margin=0.1, without=without)
    assert without == {"rewards closer than the margin": 1}


def test_invalid_input_of_make_pairs_is_reported(dialogue):
    equal = [dialogue("b", 1.0), dialogue("b", 1.0)]
    with pytest.raises(DataError, match=r"no task has a pair \(equal rewards: 1\)"):
        make_pairs(equal)
    with pytest.raises(DataError, match="there are no trajectories"):
        make_pairs([])
    with pytest.raises(UserError, match="pairs 'best': expected one of best-vs-worse, all-ordered"):
        make_pairs(equal, "best")
    with pytest.raises(UserError, match=r"^margin -0\.1: must be at least 0$"):
        make_pairs(equal, "all-ordered", margin=-0.1)
