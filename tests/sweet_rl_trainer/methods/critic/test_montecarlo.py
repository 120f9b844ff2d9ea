"""Agreement with returns, compared with plain loops; `test_continuations` runs real continuations."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")

from colbench.errors import UserError
from colbench.messages import Message
from colbench.task import Hidden, Task
from sweet_rl_trainer.data.trajectories import Trajectory
from sweet_rl_trainer.methods.critic.montecarlo import Returns, agreement, compare, sample_turns
from sweet_rl_trainer.methods.ranking.turns import Candidates, Reply, Scored, Turn, opening

TASK = Task(id="late", domain="backend", request="Write it.", hidden=Hidden(reference="def f(): 0"))
TASKS = {TASK.hash: TASK}
SAID = ("Write it.", "Hm. OUTPUT: Late?", "No.", "Empty?", "Yes.", "I WANT TO ANSWER: x")


def scored(name, texts, scores, *, number=1, task_hash=TASK.hash):
    roles = ("user", "assistant") * 3
    trajectory = Trajectory(
        id=name,
        task_id="late",
        task_hash=task_hash,
        domain="backend",
        privileged="def f(): 0",
        messages=(
            Message(role="system", content="Ask."),
            *(Message(role=role, content=text) for role, text in zip(roles, SAID, strict=True)),
        ),
        said=("Late?", "Empty?", ""),
        reward=1.0,
        ended_by="answer",
    )
    replies = tuple(Reply(text=text) for text in texts)
    candidates = Candidates(turn=Turn(trajectory=trajectory, number=number), replies=replies)
    return Scored(candidates=candidates, scores=scores, lengths=(1,) * len(scores))


def test_an_opening_is_the_dialogue_before_the_turn_and_another_reply():
    turn = scored("d", (), ()).candidates.turn
    found = opening(turn, "Really?", TASKS)
    assert found.task is TASK
    assert found.heard == ("Write it.", "No.")
    assert found.replies == ("Hm. OUTPUT: Late?", "Really?")


def test_sampled_turns_have_known_tasks_and_two_wordings_with_scores():
    ranked = [
        scored("a", ("x", "y", " x ", "z", "w"), (1.0, 2.0, 3.0, None, 4.0)),
        scored("b", ("x", "x"), (1.0, 2.0)),
        scored("c", ("x", "y"), (1.0, 2.0), task_hash="another"),
        scored("d", ("x", "y"), (1.0, None)),
    ]
    assert sample_turns(ranked, TASKS, turns=9, candidates=9) == [(ranked[0], [0, 1, 4])]
    ((_, two),) = sample_turns(ranked, TASKS, turns=9, candidates=2)
    assert len(two) == 2
    assert set(two) < {0, 1, 4}
    for numbers, words in (
        ({"turns": 0, "candidates": 2}, "^turns 0: must be at least 1$"),
        ({"turns": 1, "candidates": 1}, "^candidates 1: must be at least 2$"),
    ):
        with pytest.raises(UserError, match=words):
            sample_turns(ranked, TASKS, **numbers)


def test_turns_depend_on_the_seed_and_larger_samples_contain_smaller_ones():
    ranked = [scored(f"d{n}", "abcdef", (1.0,) * 6) for n in range(30)]

    def drawn(count, seed=0, order=1):
        sample = sample_turns(ranked[::order], TASKS, turns=count, candidates=3, seed=seed)
        return {(each.candidates.turn.name, tuple(numbers)) for each, numbers in sample}

    assert len(drawn(10)) == 10
    assert drawn(10) < drawn(20)
    assert drawn(10) == drawn(10, order=-1)
    assert drawn(10) != drawn(10, seed=1)


def test_a_return_is_the_mean_reward_of_the_continuations():
    rewards = {"x": [1.0, 0.5], "y": [0.0, 0.0], "z": [], "w": [1.0]}
    asked = []

    def continuations(openings, count):
        asked.append(count)
        return [rewards[each.replies[-1]] for each in openings]

    ranked = [scored("a", "xyzw", (1.0, 2.0, 3.0, 4.0)), scored("b", "yx", (5.0, 6.0), number=0)]
    dropped = Counter()
    sample = sample_turns(ranked, TASKS, turns=2, candidates=4)
    found = compare(sample, TASKS, continuations, 2, dropped)
    assert found == [
        Returns(task_hash=TASK.hash, scores=(1.0, 2.0, 4.0), returns=(0.75, 0.0, 1.0)),
        Returns(task_hash=TASK.hash, scores=(5.0, 6.0), returns=(0.0, 0.75)),
    ]
    assert asked == [2]
    assert dropped == {"candidates without a continuation that has a reward": 1}
    with pytest.raises(UserError, match="0 per candidate; expected at least 1"):
        compare(sample, TASKS, continuations, 0)


def test_agreement_is_measured_within_turns_and_averaged_over_tasks():
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    turns = [
        ("a", (1.0, 2.0, 3.0, 3.0), (0.0, 0.5, 1.0, 0.0)),
        ("a", (100.0, 99.0), (0.0, 1.0)),
        ("a", (1.0, 2.0), (0.5, 0.5)),  # equal returns, which have no order
        ("b", (0.0, 0.0, 0.0), (0.0, 1.0, 1.0)),  # constant scores have no ranks
        ("b", (0.1, 0.2, 0.3), (0.0, 0.2, 1.0)),
    ]
    found = agreement([Returns(task_hash=t, scores=s, returns=r) for t, s, r in turns])

    shares, ranks = {"a": [], "b": []}, {"a": [], "b": []}
    for task, scores, returns in turns:
        pairs = [(i, j) for i in range(len(scores)) for j in range(i) if returns[i] != returns[j]]
        right = [
            0.5
            if scores[i] == scores[j]
            else (scores[i] - scores[j]) * (returns[i] - returns[j]) > 0
            for i, j in pairs
        ]
        if pairs:
            shares[task].append(sum(right) / len(right))
        if pairs and len(set(scores)) > 1:
            ranks[task].append(stats.spearmanr(scores, returns).statistic)

    def over_tasks(values):
        return sum(sum(each) / len(each) for each in values.values()) / 2

    assert found.pairwise.mean == pytest.approx(over_tasks(shares))
    assert found.spearman.mean == pytest.approx(over_tasks(ranks))
    assert found.pairwise.low < found.pairwise.mean < found.pairwise.high
    assert (found.turns, found.candidates) == (4, 14)
    assert agreement([Returns(task_hash="a", scores=(1.0, 2.0), returns=(0.5, 0.5))]) is None
    assert agreement([]) is None
