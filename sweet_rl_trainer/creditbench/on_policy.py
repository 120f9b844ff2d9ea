"""Monte-Carlo values of questions under the demonstrators' policy, to a given precision.

FOLDER/values-KEY.jsonl    a line for each task

For each question, continuations are sampled until the 95% interval of their mean reward is ± `PRECISION` or narrower.
`results.validation_of` compares these values with the exact values of the truth `hindsight tests`, which come from
dynamic programming. Both computations use the same policy, but share no code that computes values.
"""

from __future__ import annotations

from math import sqrt
from random import Random

from msgspec import Struct

from colbench.config import derive_seed
from sweet_rl_trainer.creditbench.play import Player
from sweet_rl_trainer.creditbench.play import player as player_of
from sweet_rl_trainer.creditbench.states import Bench, BenchState, Candidate

PRECISION = 0.01
"""Largest accepted half-width of the interval: one percentage point."""
FEWEST = 400
"""Number of continuations that are added before each computation of the interval."""
NORMAL = 1.959964
"""The 97.5% quantile of the normal distribution."""


class Value(Struct, frozen=True, kw_only=True):
    """A question's mean reward, estimated from a sample of continuations."""

    state: str
    candidate: int
    """The question's index among the state's candidates."""
    mean: float
    half_width: float
    continuations: int


class TaskValues(Struct, frozen=True, kw_only=True):
    """A line of the file of values: the values of one task."""

    task_id: str
    values: tuple[Value, ...]


def values_of(bench: Bench) -> TaskValues:
    """Return the values of all questions of a task's states."""
    player = player_of(bench.task)
    return TaskValues(
        task_id=bench.task.id,
        values=tuple(
            _value(player, state, number, each)
            for state in bench.states
            for number, each in enumerate(state.candidates)
            if each.reward is None
        ),
    )


def _value(player: Player, state: BenchState, number: int, candidate: Candidate) -> Value:
    random = Random(derive_seed("value", state.id, candidate.text))  # noqa: S311 - reproducible
    count, total, squares = 0, 0.0, 0.0
    half_width = PRECISION + 1
    while half_width > PRECISION:
        rewards = [player.continued(random, state, candidate) for _ in range(FEWEST)]
        count += len(rewards)
        total += sum(rewards)
        squares += sum(each * each for each in rewards)
        variance = max(0.0, squares - total * total / count) / (count - 1)
        half_width = NORMAL * sqrt(variance / count)
    return Value(
        state=state.id,
        candidate=number,
        mean=total / count,
        half_width=half_width,
        continuations=count,
    )
