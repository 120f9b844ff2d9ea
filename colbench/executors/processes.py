"""The executor that divides the dialogues of a run among processes of this machine.

Each process is a `worker` with an event loop, sandbox workers and its own browser. A worker gets a cell whenever it has
room, so that a slow worker does not delay the others. A lost worker is replaced, and its cells are run again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from colbench.cell_queue import CellQueue
from colbench.event_loop import first_of
from colbench.executors.messages import Share
from colbench.executors.remote import AGAIN, Plan, RemoteExecutor, logger
from colbench.executors.worker_process import WorkerProcess

T = TypeVar("T")


class ProcessExecutor(RemoteExecutor):
    """An executor that runs the dialogues in one process for each of the `shares`."""

    def __init__(self, plan: Plan, shares: Sequence[Share]) -> None:
        super().__init__(plan)
        self._shares = shares
        self._workers = [self._worker(WorkerProcess(), share) for share in shares]

    async def __aenter__(self) -> ProcessExecutor:
        async with AsyncExitStack() as stack:
            stack.push_async_exit(self.__aexit__)
            ready = await _all(worker.start() for worker in self._workers)
            stack.pop_all()
        self.isolation, self.environments = ready[0].isolation, ready[0].environments
        return self

    async def __aexit__(self, *error: object) -> None:
        await _all(worker.stop() for worker in self._workers)

    async def run(self, queue: CellQueue) -> None:
        """Run and score the cells of a queue until the queue is empty.

        Raises the errors that the queue raises. Also raises the errors of `Worker.start` if a lost worker cannot be
        replaced.
        """
        await _all(self._serve(number, queue) for number in range(len(self._workers)))

    async def _serve(self, number: int, queue: CellQueue) -> None:
        """Have a worker serve the queue; if the worker is lost, start a new one in its place."""
        sharers = len(self._workers)
        while lost := await self._workers[number].serve(queue, self._places, sharers):
            await self._workers[number].stop()
            self._give_back(self._workers[number], lost, queue)
            logger.warning("%s; %s", lost, AGAIN)
            if queue.is_over:
                return
            self._workers[number] = self._worker(WorkerProcess(), self._shares[number])
            await self._workers[number].start()
        self._note_learned(self._workers[number])


async def _all(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results of concurrent work. If a coroutine raises an error, cancel the others and raise the error."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
    except ExceptionGroup as errors:
        raise first_of(errors) from None
    return [task.result() for task in tasks]
