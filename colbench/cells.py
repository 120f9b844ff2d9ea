"""The cells of a run: the planned dialogues, each with a key and a seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from colbench.asking.opening import opening
from colbench.config import Shard, Told
from colbench.rollout import cell_key, cell_seed
from colbench.shards import in_shard
from colbench.task import Task


class Cell(Struct, frozen=True, kw_only=True):
    """One planned dialogue: a task and a trial."""

    task: Task
    trial: int
    key: str
    seed: int
    request: str = ""
    """The first message; if empty, the task's request."""


def plan(
    tasks: Sequence[Task],
    trials: int,
    config_digest: str,
    seed: int,
    told: Told = "asked",
    *,
    shard: Shard | None = None,
) -> Iterator[Cell]:
    """Yield the cells of a run, or of a shard: trial 0 of every task, then trial 1 of every task, and so on.

    `told` is the setting `RunConfig.told`, which determines the first message of each dialogue. Raises UserError if
    `told` is `all` and the decisions of a task are not known.
    """
    for trial in range(trials):
        for task in tasks:
            if in_shard(shard, task.id, task.hash, trial):
                yield Cell(
                    task=task,
                    trial=trial,
                    key=cell_key(task.id, task.hash, trial, config_digest),
                    seed=cell_seed(seed, task.id, task.hash, trial),
                    request=opening(task, told),
                )
