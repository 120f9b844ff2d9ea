"""Best of n, compared with brute force."""

from __future__ import annotations

import math
from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from colbench.errors import UserError
from colbench.messages import Message
from sweet_rl_trainer.data.trajectories import Trajectory
from sweet_rl_trainer.methods.critic.best_of import best_of_n, expected_best, of_dialogues


def brute_force(rewards, scores, count):
    """Return the mean over all orders of breaking ties and all draws."""
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


def test_the_expected_best_is_exact_for_thousands_of_candidates():
    rewards = [float(n % 2) for n in range(2000)]
    scores = [float(n) for n in range(2000)]
    assert math.isclose(expected_best(rewards, scores, 2000), 1.0)
    assert expected_best(rewards, scores, 1) == pytest.approx(0.5)


@pytest.mark.parametrize("count", [0, 3])
def test_a_count_outside_the_number_of_candidates_is_refused(count):
    with pytest.raises(UserError, match=f"best of {count}: expected a number from 1 to 2"):
        best_of_n([([1.0, 0.0], [0.0, 1.0]), ([1.0] * 9, [0.0] * 9)], [1, count])


def test_different_numbers_of_rewards_and_scores_are_refused():
    with pytest.raises(ValueError, match="2 rewards but 1 scores"):
        expected_best([1, 0], [1], 1)


def dialogue(name, task, reward):
    said = (Message(role="user", content="Write it."), Message(role="assistant", content="No."))
    return Trajectory(
        id=name,
        task_id=task,
        task_hash=task,
        domain="backend",
        privileged="def f(): 0",
        messages=said,
        said=("No.",),
        reward=reward,
        ended_by="answer",
    )


def test_the_best_dialogue_is_chosen_within_each_task():
    rewards = {"a": (0.0, 1.0, 0.5, 0.0, 1.0), "b": (1.0, 0.0, 0.0, 0.0), "c": (1.0,)}
    found = {"a": (5.0, 9.0, 7.0, 2.0, 1.0), "b": (1.0, 2.0, 3.0, 4.0), "c": (0.0,)}
    dialogues = [
        dialogue(f"{task}{n}", task, reward)
        for task, all_ in rewards.items()
        for n, reward in enumerate(all_)
    ]
    scores = {f"{task}{n}": score for task, all_ in found.items() for n, score in enumerate(all_)}
    curve = of_dialogues(dialogues, scores)
    assert (curve.tasks, curve.left_out) == (2, 1)
    assert [each.count for each in curve.curve] == [1, 2, 4]
    for each in curve.curve:
        means = [brute_force(rewards[task], found[task], each.count) for task in "ab"]
        assert each.reward.mean == pytest.approx(sum(means) / 2)

    higher = [replace(each, reward=each.reward + 5) for each in dialogues]
    for each, above in zip(curve.curve, of_dialogues(higher, scores).curve, strict=True):
        assert above.reward.low <= above.reward.mean <= above.reward.high
        assert above.reward.mean == pytest.approx(each.reward.mean + 5)

    shorter = of_dialogues(dialogues, {name: scores[name] for name in scores if name != "b0"})
    assert [each.count for each in shorter.curve] == [1, 2]
    assert of_dialogues(dialogues[-1:], scores) is None
    assert of_dialogues(dialogues, {}) is None
