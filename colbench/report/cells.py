"""The planned cells of a run, and their values by a metric and a scoring mode."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from colbench.config import Shard
from colbench.domain import Domain, Metric
from colbench.registry import get_domain
from colbench.rollout import Rollout
from colbench.shards import in_shard
from colbench.task import Task

T = TypeVar("T")
Grid = tuple[tuple[Rollout | None, ...], ...]
"""One row for each task, one place for each trial; None where there is no rollout yet."""


class Cells(Struct, frozen=True, kw_only=True):
    """The cells of one domain, in the order of the tasks."""

    tasks: tuple[Task, ...]
    grid: Grid
    trials: int
    """Trials planned for each task; a shard has some of them."""

    @property
    def planned(self) -> int:
        """Number of cells."""
        return sum(map(len, self.grid))

    @property
    def rollouts(self) -> list[Rollout]:
        """The existing rollouts."""
        return [rollout for row in self.grid for rollout in row if rollout]

    @property
    def whole(self) -> Cells:
        """Only the dialogues that ended with an answer, scored or not."""
        return self.keep(lambda rollout: rollout.ended_by != "failure")

    def keep(self, condition: Callable[[Rollout], bool]) -> Cells:
        """Return the same grid with None for every rollout that does not meet the condition."""
        grid = tuple(
            tuple(each if each and condition(each) else None for each in row) for row in self.grid
        )
        return replace(self, grid=grid)

    def clusters(self, measure: Callable[[Rollout], T | None]) -> list[list[T]]:
        """Return, for each task, the measures of its rollouts that are not None."""
        return [
            [x for each in row if each and (x := measure(each)) is not None] for row in self.grid
        ]


def plan(
    tasks: Iterable[Task],
    trials: int,
    rollouts: Iterable[Rollout],
    shard: Shard | None = None,
) -> Cells:
    """Put rollouts into their cells by task id and trial; the last one of a cell counts.

    A shard has only its own cells, and only the tasks that have some.
    """
    found = {(rollout.task_id, rollout.trial): rollout for rollout in rollouts}
    rows = [
        (task, row)
        for task in tasks
        if (
            row := tuple(
                found.get((task.id, trial))
                for trial in range(trials)
                if in_shard(shard, task, trial)
            )
        )
    ]
    return Cells(
        tasks=tuple(task for task, _ in rows), grid=tuple(row for _, row in rows), trials=trials
    )


def value(rollout: Rollout, mode: str, metric: Metric) -> float | None:
    """Return a metric of a cell; None if it was not taken. A failure of the agent is worth 0."""
    found = metric.of(rollout.scores.get(mode))
    return 0.0 if found is None and rollout.agent_failed else found


def success(rollout: Rollout, mode: str) -> bool | None:
    """Return True if the cell succeeded, False if it failed (a failure of the agent, too), None if it is unscored.

    In a domain without success it is None.
    """
    score = rollout.scores.get(mode)
    if score and score.success is not None:
        return score.success
    return False if rollout.agent_failed and get_domain(rollout.domain).success else None


def unjudged(rollout: Rollout, mode: str, lead: Metric) -> bool:
    """Return True if nothing failed and yet there is no value: the reference cannot be compared with."""
    scored = rollout.scores.get(mode) is not None
    return scored and rollout.settled and value(rollout, mode, lead) is None


def value_at(rollout: Rollout, turn: int, lead: Metric) -> float | None:
    """Return a metric of what the agent had shown last at a turn (from 1), in the domain's first mode.

    It is 0 while nothing has been shown. None: the dialogue was not scored, or its turns were not.
    """
    final = value(rollout, get_domain(rollout.domain).modes[0], lead)
    values = [lead.of(each.score) for each in rollout.turns]
    if final is None or (final != 0 and all(each is None for each in values)):
        return None
    if rollout.agent_failed:
        return 0.0
    return next((each for each in reversed(values[:turn]) if each is not None), 0.0)


def leading_metric(domain: Domain, rollouts: Sequence[Rollout]) -> Metric:
    """Return the metric that a report leads with.

    It is the primary one, or the fallback unless every answer that was measured has the primary one:
    a mean over some of the answers would pass for one over all.
    """
    if domain.fallback is None:
        return domain.primary
    shown = (rollout for rollout in rollouts if not rollout.agent_failed)
    scores = [score for rollout in shown for score in rollout.scores.values()]
    lacking = any(score.value is None and domain.fallback.of(score) is not None for score in scores)
    taken = any(score.value is not None for score in scores)
    return domain.primary if taken and not lacking else domain.fallback
