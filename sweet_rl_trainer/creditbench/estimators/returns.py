"""Estimators by mean reward: the demonstrators' policy continues the dialogue after a candidate (`play`)."""

from __future__ import annotations

from functools import partial
from random import Random
from statistics import fmean

from colbench.config import derive_seed
from sweet_rl_trainer.creditbench.estimators.estimator import Estimator, Scores
from sweet_rl_trainer.creditbench.play import Player
from sweet_rl_trainer.creditbench.play import player as player_of
from sweet_rl_trainer.creditbench.states import Bench, BenchState, Candidate

COUNTS = (4, 16, 64)
"""Numbers of continuations for each candidate."""


def returns(bench: Bench, count: int) -> list[Scores]:
    """Return each question's mean reward over `count` continuations, and each answer's reward.

    A smaller `count` uses the first of the continuations that a larger `count` uses.
    """
    player = player_of(bench.task)
    return [
        tuple(_mean(player, state, each, count) for each in state.candidates)
        for state in bench.states
    ]


def _mean(player: Player, state: BenchState, candidate: Candidate, count: int) -> float:
    if candidate.reward is not None:
        return candidate.reward
    random = Random(derive_seed("returns", state.id, candidate.text))  # noqa: S311 - reproducible
    return fmean(player.continued(random, state, candidate) for _ in range(count))


ESTIMATORS = tuple(
    Estimator(
        name=f"returns of {count}",
        about=f"mean reward of {count} continuations by the demonstrators' policy",
        score=partial(returns, count=count),
    )
    for count in COUNTS
)
