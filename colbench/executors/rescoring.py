"""Rescoring the recorded dialogues of a run, on any executor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from colbench.cell_queue import CellQueue, Job
from colbench.cells import Cell
from colbench.event_loop import first_of, in_order
from colbench.executors import Executor
from colbench.rollout import Rollout
from colbench.task import Task


class ScoringQueue(CellQueue):
    """A queue of dialogues that only need scoring."""

    def __init__(self) -> None:
        super().__init__((), {}, self._answer)
        self._closed = False
        self._asked: dict[str, asyncio.Future[Rollout]] = {}

    @property
    def is_over(self) -> bool:
        """True if no more dialogues will be handed out."""
        return bool(self.stopped) or (self._closed and super().is_over)

    async def serve(self, executor: Executor) -> None:
        """Have an executor score dialogues until the queue is closed. Raises any error that ended the scoring early."""
        await executor.run(self)
        self.raise_stopped()

    async def score(self, task: Task, rollout: Rollout) -> Rollout:
        """Return a rollout with its new verdicts; a failure of the scorer becomes the rollout's failure."""
        cell = Cell(task=task, trial=rollout.trial, key=rollout.key, seed=rollout.seed)
        self._asked[rollout.key] = asyncio.get_running_loop().create_future()
        self._returned.append(Job(cell=cell, kept=rollout))
        self._changed.set()
        return await self._asked[rollout.key]

    def close(self) -> None:
        """Close the queue: the executor ends once everything is scored."""
        self._closed = True
        self._changed.set()

    def _answer(self, rollout: Rollout) -> None:
        self._asked.pop(rollout.key).set_result(rollout)


async def rescore(
    executor: Executor,
    rollouts: Sequence[Rollout],
    tasks: Mapping[str, Task],
    take: Callable[[Rollout, Rollout], None],
    *,
    most: int,
) -> None:
    """Score up to `most` rollouts at a time, and call `take(old, scored)` for each rollout, in order.

    A rollout without an answer, or whose task is not in `tasks` (by id), stays unchanged. Raises the error that ended
    the scoring early, if any.
    """
    queue = ScoringQueue()

    async def again(rollout: Rollout) -> Rollout:
        task = tasks.get(rollout.task_id)
        return rollout if rollout.answer is None or not task else await queue.score(task, rollout)

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(queue.serve(executor))
            async for old, scored in in_order(rollouts, again, most=most):
                take(old, scored)
            queue.close()
    except ExceptionGroup as errors:
        raise first_of(errors) from None
