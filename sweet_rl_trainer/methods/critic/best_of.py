"""Best of N: the reward of the candidate that a critic chooses, as the number of candidates grows.

`of_dialogues` chooses among all recorded dialogues of each held-out task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb

from msgspec import Struct

from colbench.errors import UserError
from colbench.stats import Interval, mean_interval
from sweet_rl_trainer.data.trajectories import Trajectory


class BestOf(Struct, frozen=True, kw_only=True):
    """The reward of the best-scored of n candidates: the mean over groups of candidates, with an interval."""

    count: int
    """Number n of candidates."""
    reward: Interval


def best_of_n(
    groups: Sequence[tuple[Sequence[float], Sequence[float]]],
    counts: Sequence[int],
    bounds: tuple[float, float] | None = (0.0, 1.0),
) -> list[BestOf]:
    """Return the best-of-N curve at the numbers N in `counts`.

    A group consists of the rewards and the scores of candidates, such as a task's answers. The estimate is unbiased
    (`expected_best`). `bounds` are the bounds of the rewards; None if the rewards are unbounded. Raises UserError if a
    count is below 1 or above the number of candidates of a group.
    """
    fewest = min((len(rewards) for rewards, _ in groups), default=0)
    for count in counts:
        if not 1 <= count <= fewest:
            raise UserError(
                f"best of {count}: expected a number from 1 to {fewest}, the size of the smallest "
                "group"
            )
    return [
        BestOf(
            count=count,
            reward=mean_interval(
                [[expected_best(rewards, scores, count)] for rewards, scores in groups], bounds
            ),
        )
        for count in counts
    ]


def expected_best(rewards: Sequence[float], scores: Sequence[float], count: int) -> float:
    """Return the expected reward of the best-scored of n = `count` candidates that are drawn without replacement.

    There are C(m, n) possible draws from m candidates. In C(i − 1, n − 1) of them, the candidate with the i-th lowest
    score (from 1) is the best. Ties are broken at random, so candidates with equal scores count with their mean reward.
    """
    if len(rewards) != len(scores):
        raise ValueError(f"{len(rewards)} rewards but {len(scores)} scores")
    equals: dict[float, list[float]] = {}
    for reward, score in zip(rewards, scores, strict=True):
        equals.setdefault(score, []).append(reward)
    total, below = 0.0, 0
    for score in sorted(equals):
        same = equals[score]
        draws = comb(below + len(same), count) - comb(below, count)
        total += draws * sum(same) / len(same)
        below += len(same)
    return total / comb(below, count)


class DialogueCurve(Struct, frozen=True, kw_only=True):
    """The expected reward of the highest-scored of n dialogues on a task.

    For n = 1, this is the expected reward of a random dialogue.
    """

    curve: tuple[BestOf, ...]
    """Points for n = 1, 2, 4, …, up to the largest such n for which each of the `tasks` has n dialogues."""
    tasks: int
    left_out: int
    """Number of tasks with fewer than two scored dialogues."""


def of_dialogues(
    trajectories: Sequence[Trajectory], scores: Mapping[str, float]
) -> DialogueCurve | None:
    """Return the best-of-n curve over the tasks with at least two scored dialogues; None if no such task exists.

    `scores` maps the IDs of dialogues to their scores S, as computed by `ranking.score.score_sides`.
    """
    groups: dict[str, tuple[list[float], list[float]]] = {}
    for each in trajectories:
        if each.id in scores:
            rewards, found = groups.setdefault(each.task_hash, ([], []))
            rewards.append(each.reward)
            found.append(scores[each.id])
    enough = [group for group in groups.values() if len(group[0]) > 1]
    if not enough:
        return None
    fewest = min(len(rewards) for rewards, _ in enough)
    counts = [2**n for n in range(fewest.bit_length())]
    inside = all(0 <= reward <= 1 for rewards, _ in enough for reward in rewards)
    return DialogueCurve(
        curve=tuple(best_of_n(enough, counts, (0.0, 1.0) if inside else None)),
        tasks=len(enough),
        left_out=len({each.task_hash for each in trajectories}) - len(enough),
    )
