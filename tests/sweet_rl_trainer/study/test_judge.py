"""What a critic's scores of dialogues come to, against counts by hand."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")

from colbench.errors import DataError
from colbench.messages import Message
from sweet_rl_trainer.data.pairs import PairSettings
from sweet_rl_trainer.data.trajectories import Trajectory
from sweet_rl_trainer.study.judge import judged


def dialogue(name, reward, turns=2):
    """`a1`: the dialogue 1 of the task a."""
    messages = [Message(role="user", content="Write it.")]
    for n in range(turns):
        messages += [Message(role="assistant", content=str(n)), Message(role="user", content="?")]
    return Trajectory(
        id=name,
        task_id=name[0],
        task_hash=name[0],
        domain="backend",
        messages=tuple(messages[:-1]),
        said=tuple(map(str, range(turns))),
        reward=reward,
        privileged="def f(): pass",
        ended_by="answer",
    )


def test_accuracy_is_the_mean_over_tasks_of_the_pairs_that_are_in_order():
    dialogues = [
        *(dialogue("a1", 1.0), dialogue("a2", 0.5), dialogue("a3", 0.0)),
        *(dialogue("b1", 0.0), dialogue("b2", 1.0)),
        *(dialogue("c1", 0.0), dialogue("c2", 0.5)),  # no success, no pair
    ]
    scores = {"a1": 2.0, "a2": 1.0, "a3": 3.0, "b1": 1.0, "b2": 1.0, "c1": 9.0, "c2": 0.0}
    found = judged(dialogues, scores, PairSettings())
    assert found.pairs == 3
    assert found.accuracy[0] == pytest.approx(((1 + 0) / 2 + 0.5) / 2)
    low, high = found.accuracy[1:]
    assert 0 <= low <= found.accuracy[0] <= high <= 1


def test_dialogues_with_as_many_turns_are_looked_at_by_themselves():
    dialogues = [
        *(dialogue("a1", 1.0, turns=4), dialogue("a2", 0.0, turns=4), dialogue("a3", 0.0)),
        *(dialogue("b1", 1.0), dialogue("b2", 0.0), dialogue("b3", 0.5, turns=3)),
    ]
    scores = {"a1": 1.0, "a2": 2.0, "a3": 0.0, "b1": 4.0, "b2": 1.0, "b3": 3.0}
    found = judged(dialogues, scores, PairSettings())
    assert (found.pairs, found.matched_pairs) == (4, 2)
    assert (found.accuracy[0], found.matched[0]) == (pytest.approx(0.75), pytest.approx(0.5))
    counted = judged(dialogues, {each.id: len(each.said) for each in dialogues}, PairSettings())
    assert counted.matched[0] == 0.5
    assert counted.accuracy[0] == pytest.approx(((0.5 + 1) / 2 + (0.5 + 0) / 2) / 2)


def test_without_two_dialogues_of_as_many_turns_there_is_no_accuracy_of_them():
    found = judged(
        [dialogue("a1", 1.0, turns=4), dialogue("a2", 0.0)], {"a1": 1.0, "a2": 0.0}, PairSettings()
    )
    assert (found.matched_pairs, found.matched) == (0, None)


def test_a_critic_that_likes_turns_is_seen_by_its_correlation():
    dialogues = [dialogue("a1", 1.0, turns=5), dialogue("a2", 0.0, turns=2), dialogue("b1", 0.0, 3)]
    found = judged(
        dialogues, {each.id: 2.0 * len(each.said) - 1 for each in dialogues}, PairSettings()
    )
    assert found.with_turns == pytest.approx(1.0)


def test_the_best_of_n_is_chosen_by_score_and_succeeds_or_does_not():
    dialogues = [dialogue(f"a{n}", 1.0 if n == 2 else 0.9) for n in range(4)]
    found = judged(dialogues, {"a0": 0.0, "a1": 1.0, "a2": 2.0, "a3": 3.0}, PairSettings())
    assert [(n, mean) for n, mean, *_ in found.best_of] == [
        (1, pytest.approx(0.25)),
        (2, pytest.approx(2 / 6)),  # of six draws of two, those of a2 without a3
        (4, 0.0),
    ]


def test_dialogues_without_a_pair_are_an_error():
    with pytest.raises(DataError, match="no task has one"):
        judged([dialogue("a1", 0.0), dialogue("a2", 0.0)], {"a1": 1.0, "a2": 0.0}, PairSettings())


def test_pairs_are_those_of_the_rule():
    dialogues = [dialogue("a1", 0.5), dialogue("a2", 0.2), dialogue("a3", 0.4)]
    scores = {"a1": 3.0, "a2": 2.0, "a3": 1.0}
    found = judged(dialogues, scores, PairSettings(rule="all-ordered", margin=0.15))
    assert found.pairs == 2  # a1 and a3 are too close
    assert found.accuracy[0] == pytest.approx(0.5)
