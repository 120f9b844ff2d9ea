"""Group-relative advantages: a candidate in one sampled dialogue, compared with other dialogues about its task.

The group has n dialogues by the demonstrators' policy (`play`) with the turn limit of the state. One dialogue consists
of the state's turns, the candidate and, if the candidate is a question, a continuation. The other n − 1 dialogues start
from the request. A is the advantage of the candidate, and t its turn.

| estimator | A of the candidate |
|---|---|
| `GRPO` | (R − mean R) / std R: one outcome for all turns (arXiv 2402.03300) |
| `MT-GRPO` | (r_t − mean r_t) / std r_t over the dialogues that ask in turn t, plus A of GRPO; for answers, A of GRPO |
| `turn-level GRPO, unbiased` | R − w Φ(o_t), minus its mean over all dialogues (`train.grpo.credit`) |

r_t is the share of the open decisions that the reply in turn t reveals for the first time, and Φ(o_t) the share
revealed before turn t. w is a weight. R is the reward of the answer (0 without an answer) minus the cost κ of each
question. MT-GRPO: arXiv 2505.11821.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from statistics import fmean, pstdev

from msgspec import Struct

from colbench.config import derive_seed
from sweet_rl_trainer.creditbench.estimators.estimator import Estimator, Scores
from sweet_rl_trainer.creditbench.play import Facts, Player
from sweet_rl_trainer.creditbench.play import Turn as PlayedTurn
from sweet_rl_trainer.creditbench.play import player as player_of
from sweet_rl_trainer.creditbench.states import Bench, BenchState, Candidate
from sweet_rl_trainer.creditbench.truths import COST

SIZE = 8
"""Number n of dialogues in a group."""
SMALL = 1e-4
"""Small constant added to standard deviations."""
WEIGHT = 0.5
"""The weight w of `turn-level GRPO, unbiased`."""


class Dialogue(Struct, frozen=True):
    """A sampled dialogue."""

    reward: float
    """Reward of the dialogue's answer (0 without an answer), minus κ for each question."""
    told: tuple[Facts, ...]
    """For each question, the facts that the reply reveals for the first time."""


Group = Sequence[Dialogue]
"""The dialogue with the candidate, then the other dialogues."""
Advantage = Callable[[Sequence[Group], int, int], Sequence[float]]
"""A function of the groups, the turn (from 0) and the number of open decisions.

It returns the advantage A of each group's first dialogue.
"""


def grpo(groups: Sequence[Group], turn: int, hidden: int) -> list[float]:  # noqa: ARG001
    """Return advantages computed from one outcome per dialogue."""
    return [_standard([each.reward for each in group]) for group in groups]


def mt_grpo(groups: Sequence[Group], turn: int, hidden: int) -> list[float]:
    """Return each candidate's GRPO advantage.

    If the candidate is a question, add the group-relative advantage of the reward for this turn alone.
    """
    asked = [
        [len(each.told[turn]) / hidden for each in group if turn < len(each.told)]
        for group in groups
    ]
    return [
        outcome + (_standard(rewards) if turn < len(group[0].told) else 0.0)
        for outcome, rewards, group in zip(grpo(groups, turn, hidden), asked, groups, strict=True)
    ]


def unbiased(groups: Sequence[Group], turn: int, hidden: int) -> list[float]:
    """Return the trainer's unbiased turn-level advantages (`train.grpo.credit`)."""
    from torch import tensor

    from sweet_rl_trainer.train.grpo.credit import turn_advantages

    dialogues = [each for group in groups for each in group]
    settled = [
        [
            WEIGHT * len(frozenset().union(*each.told[:before])) / hidden
            for before in range(turn + 1)
        ]
        for each in dialogues
    ]
    found = turn_advantages(
        tensor([each.reward for each in dialogues]),
        tensor(settled),
        group_size=SIZE,
        scale="none",
    )
    return [float(each) for each in found[::SIZE, turn]]


def advantages(bench: Bench, advantage: Advantage, name: str) -> list[Scores]:
    """Return the advantage of each candidate; a separate group is sampled for each candidate."""
    player = player_of(bench.task)
    hidden = max(1, len(player.open))
    return [
        tuple(advantage(_groups(player, state, name), len(state.said), hidden))
        for state in bench.states
    ]


def _groups(player: Player, state: BenchState, name: str) -> list[Group]:
    limit = len(state.said) + state.turns_left
    groups = list[Group]()
    for candidate in state.candidates:
        random = Random(derive_seed(name, state.id, candidate.text))  # noqa: S311 - reproducible
        others = [_sampled(player, random, limit) for _ in range(SIZE - 1)]
        groups.append([_through(player, random, state, candidate), *others])
    return groups


def _sampled(player: Player, random: Random, limit: int) -> Dialogue:
    turns = list(player.turns(random, frozenset(), limit))
    return Dialogue(player.reward(turns), _told(turns))


def _through(player: Player, random: Random, state: BenchState, candidate: Candidate) -> Dialogue:
    """Sample a dialogue of the state's turns, the candidate and, if the candidate is a question, a continuation."""
    before, known = list[Facts](), frozenset[str]()
    for question in state.said:
        told = player.told(question) - known
        before.append(told)
        known |= told
    asked = COST * len(before)
    if candidate.reward is not None:
        return Dialogue(candidate.reward - asked, tuple(before))
    told = frozenset(candidate.told)
    after = list(player.turns(random, known | told, state.turns_left - 1))
    return Dialogue(player.reward(after) - asked - COST, (*before, told, *_told(after)))


def _told(turns: Sequence[PlayedTurn]) -> tuple[Facts, ...]:
    return tuple(each.told for each in turns if not each.answers)


def _standard(group: Sequence[float]) -> float:
    """Return how many standard deviations the first value of the group is above the mean of the group."""
    return (group[0] - fmean(group)) / (pstdev(group) + SMALL)


ESTIMATORS = tuple(
    Estimator(name=name, about=about, score=partial(advantages, advantage=advantage, name=name))
    for name, about, advantage in (
        (
            "GRPO",
            "the dialogue's reward minus the mean of a group of 8 dialogues, in standard deviations",
            grpo,
        ),
        (
            "MT-GRPO",
            "as GRPO; for a question, plus the standardized share of decisions that its turn reveals",
            mt_grpo,
        ),
        (
            "turn-level GRPO, unbiased",
            "the dialogue's reward minus `w Φ(o)`, minus the mean of this difference over the 8 dialogues; "
            "`Φ` as in facts told",
            unbiased,
        ),
    )
)
