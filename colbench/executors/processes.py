"""The executor that divides the dialogues of a run among processes of this machine.

Each process is a `worker` with an event loop, sandbox workers and a browser of its own. It is handed a cell whenever it
has room, so that a slow one holds up nobody. Where one is lost, another takes its place, and its cells are owed again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

from colbench.cell_queue import CellQueue, Job
from colbench.config import RunConfig, workers
from colbench.errors import UserError, WorkerError
from colbench.executors.messages import Logged, Share, Start
from colbench.executors.worker_process import WorkerProcess
from colbench.rollout import Rollout, failure_of
from colbench.run_folder import now
from colbench.runner import first_of, make_rollout
from colbench.sandbox import SPARE_WORKERS
from colbench.task import Task

T = TypeVar("T")
WORTH = 200
"""Dialogues for which it is worth starting a process; it takes two seconds of CPU."""

logger = logging.getLogger("colbench")


def count_processes(config: RunConfig, dialogues: int, single: str) -> int:
    """Return how many processes a run of so many dialogues has; `single` is why it can have but one, empty if it can.

    Raises UserError if more are asked for than it can have.
    """
    if config.processes == "auto":
        return 1 if single else max(1, min(workers(0), dialogues // WORTH))
    if config.processes > 1 and single:
        raise UserError(f"--processes {config.processes}: {single}")
    return max(1, min(config.processes, dialogues, config.concurrency))


def shares(config: RunConfig, dialogues: int, processes: int) -> list[Share]:
    """Return what each of some processes has of a run's limits: nearly equal parts, of workers one at least."""
    scoring = workers(config.sandbox_workers, SPARE_WORKERS)
    rendering = workers(config.browser_workers)
    return [
        Share(
            dialogues=_part(dialogues, processes, number),
            sandbox_workers=max(1, _part(scoring, processes, number)),
            browser_workers=max(1, _part(rendering, processes, number)),
            sharers=processes,
        )
        for number in range(processes)
    ]


def _part(whole: int, parts: int, number: int) -> int:
    return whole // parts + (number < whole % parts)


class ProcessExecutor:
    """Holds the dialogues of a run in as many processes as there are `shares`.

    `out` is the folder that was given for the run, `log_folder` the one for the log of an agent that keeps one.
    """

    def __init__(
        self,
        config: RunConfig,
        tasks: Sequence[Task],
        shares: Sequence[Share],
        *,
        out: Path | None,
        log_folder: Path,
    ) -> None:
        self.isolation = ""
        self.environments: dict[str, str] = {}
        self.learned: dict[str, list[str]] = {}
        self._places = {task.id: place for place, task in enumerate(tasks)}
        self._starts = [
            Start(
                config=config,
                share=share,
                tasks=tuple(tasks),
                out=str(out) if out else None,
                log_folder=str(log_folder),
            )
            for share in shares
        ]
        self._workers = list(map(self._worker, self._starts))
        self._said = set[str]()

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
        """Run and score the cells of a queue until it has no more; raises what the queue raises."""
        await _all(self._serve(number, queue) for number in range(len(self._workers)))

    async def _serve(self, number: int, queue: CellQueue) -> None:
        """Have a worker serve the queue, and if it is lost, a new one in its place."""
        while lost := await self._workers[number].serve(queue, self._places):
            worker = self._workers[number]
            await worker.stop()
            for job in queue.give_back(worker.jobs.values()):
                queue.finished(_given_up(job, lost))
            logger.warning("%s; another one takes up its dialogues", lost)
            if queue.is_over:
                return
            self._workers[number] = self._worker(self._starts[number])
            await self._workers[number].start()
        for role, sentences in self._workers[number].learned.items():
            known = self.learned.setdefault(role, [])
            known += [sentence for sentence in sentences if sentence not in known]

    def _worker(self, start: Start) -> WorkerProcess:
        return WorkerProcess(start, self._log)

    def _log(self, line: Logged) -> None:
        """Log what a worker logs, once if several say the same."""
        if line.text not in self._said:
            self._said.add(line.text)
            logger.log(line.level, "%s", line.text)


def _given_up(job: Job, lost: WorkerError) -> Rollout:
    """Return the rollout of a cell that was lost with several workers; a dialogue that was held before is kept."""
    failure = failure_of(lost)
    if job.kept:
        return job.kept
    return make_rollout(
        job.cell, turns=(), ending=None, failure=failure, started=now(), seconds=0.0
    )


async def _all(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results of some work that is done at the same time; the first error ends the rest, and is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
    except ExceptionGroup as errors:
        raise first_of(errors) from None
    return [task.result() for task in tasks]
