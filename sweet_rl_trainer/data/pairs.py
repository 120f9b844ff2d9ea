"""Pairs of trajectories of the same task, the better one first.

| rule | chosen | rejected |
|---|---|---|
| `best-vs-worse` | the best dialogue, with reward 1 or more | every dialogue with a smaller reward (released code) |
| `all-ordered` | every dialogue | every dialogue with a reward smaller by at least the margin (paper: frontend, 0.1) |

`match_turns` pairs only dialogues with the same number of turns, so that a critic cannot learn from length.
`limit_negatives` are dialogues that reached the turn limit. They teach a critic that asking forever is worse than
answering; pairs with the same number of turns hardly show this. Such a dialogue is the rejected side of a pair, and the
best dialogue of its task is the chosen side. The rule must allow the pair, but the numbers of turns may differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

from msgspec import Struct

from colbench.errors import DataError, UserError
from colbench.task import FRONTEND
from sweet_rl_trainer.data.trajectories import Trajectory
from sweet_rl_trainer.settings import NotNegative

Rule = Literal["best-vs-worse", "all-ordered"]
RULES: tuple[Rule, ...] = get_args(Rule)
SOLVED = 1.0
"""The lowest reward that counts as a success in `best-vs-worse`."""
ROUNDING = 1e-9
"""Tolerance for rounding errors of rewards: the amount by which a difference may be smaller than the margin."""

PAPER_PAIRS: Mapping[str, Mapping[str, Any]] = {FRONTEND: {"rule": "all-ordered", "margin": 0.1}}
"""The paper's settings for pairs in domains other than backend programming."""


class PairSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rule for pairs and its options (see the module).

    The defaults are the paper's settings for backend programming.
    """

    rule: Rule = "best-vs-worse"
    margin: NotNegative = 0.0
    match_turns: bool = False
    limit_negatives: bool = False
    """True for extra pairs, in which a task's best dialogue is chosen over a dialogue that reached the turn limit.

    `match_turns` does not restrict these pairs.
    """


class NoPairsError(DataError):
    """An error because no task, or no turn, has a pair; the message counts the tasks or turns by reason."""


class Pair(Struct, frozen=True, kw_only=True):
    """Two trajectories of one task; the chosen one has the higher reward."""

    chosen: Trajectory
    rejected: Trajectory


def make_pairs(
    trajectories: Sequence[Trajectory],
    rule: Rule = "best-vs-worse",
    *,
    margin: float = 0.0,
    match_turns: bool = False,
    limit_negatives: Iterable[Trajectory] = (),
    without: Counter[str] | None = None,
) -> list[Pair]:
    """Return all pairs that the rule allows, task by task in order of first appearance.

    If several trajectories are equally good and the rule needs only one of them, the first is used. `without` counts,
    by reason, the tasks without a pair. `limit_negatives` are further trajectories for the rejected side. Those that
    did not reach the turn limit, or whose task does not occur in `trajectories`, are ignored. Raises DataError if no
    task has a pair, UserError for an unknown rule or a margin below 0.
    """
    if rule not in RULES:
        raise UserError(f"pairs {rule!r}: expected one of {', '.join(RULES)}")
    if margin < 0:
        raise UserError(f"margin {margin:g}: must be at least 0")
    truncated = _by_task(each for each in limit_negatives if each.ended_by == "limit")
    none = Counter[str]()
    pairs: list[Pair] = []
    for task, group in _by_task(trajectories).items():
        found = list(_ordered(group, rule, margin, match_turns))
        beaten = [pair.rejected for pair in found]
        more = [each for each in truncated.get(task, []) if not any(each is one for one in beaten)]
        found += _against(group, more, rule, margin)
        pairs += found
        if not found:
            none[_why(group, rule, margin, match_turns)] += 1
    if without is not None:
        without += none
    if not pairs:
        reasons = ", ".join(f"{reason}: {count}" for reason, count in none.items())
        raise NoPairsError(
            f"pairs {rule}: no task has a pair ({reasons or 'there are no trajectories'})"
        )
    return pairs


def _by_task(trajectories: Iterable[Trajectory]) -> dict[str, list[Trajectory]]:
    groups: dict[str, list[Trajectory]] = {}
    for each in trajectories:
        groups.setdefault(each.task_hash, []).append(each)
    return groups


def _ordered(
    group: Sequence[Trajectory], rule: Rule, margin: float, match_turns: bool
) -> Iterator[Pair]:
    for rejected in group:
        better = [
            each
            for each in group
            if _beats(each, rejected, rule, margin)
            and not (match_turns and len(each.said) != len(rejected.said))
        ]
        if rule == "best-vs-worse":
            better = sorted(better, key=lambda each: -each.reward)[:1]
        for chosen in better:
            yield Pair(chosen=chosen, rejected=rejected)


def _against(
    group: Sequence[Trajectory], truncated: Sequence[Trajectory], rule: Rule, margin: float
) -> list[Pair]:
    best = max(group, key=lambda each: each.reward)
    return [
        Pair(chosen=best, rejected=each) for each in truncated if _beats(best, each, rule, margin)
    ]


def _beats(chosen: Trajectory, rejected: Trajectory, rule: Rule, margin: float) -> bool:
    ahead = chosen.reward - rejected.reward
    enough = chosen.reward >= SOLVED if rule == "best-vs-worse" else ahead >= margin - ROUNDING
    return ahead > 0 and enough


def _why(group: Sequence[Trajectory], rule: Rule, margin: float, match_turns: bool) -> str:
    rewards = [each.reward for each in group]
    if len(group) == 1:
        return "only one dialogue"
    if min(rewards) == max(rewards):
        return "equal rewards"
    if rule == "best-vs-worse" and max(rewards) < SOLVED:
        return "no reward of 1"
    if rule == "all-ordered" and max(rewards) - min(rewards) < margin - ROUNDING:
        return "rewards closer than the margin"
    return "no pair with the same number of turns" if match_turns else "no pair"
