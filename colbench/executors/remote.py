"""Code shared by executors with worker processes: the creation of workers, and the handling of lost workers."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from colbench.cell_queue import CellQueue, Job
from colbench.config import RunConfig
from colbench.errors import WorkerError
from colbench.executors.messages import Logged, Share, Start
from colbench.executors.workers import Host, Worker
from colbench.rollout import Rollout, failure_of
from colbench.run_folder import now
from colbench.runner import make_rollout
from colbench.task import Task

logger = logging.getLogger("colbench")
AGAIN = "its dialogues start again, except those that were interrupted before"
"""Part of the warning about a lost worker: its dialogues run again, up to a limit (`cell_queue.LOSSES`)."""


class Plan(Struct, frozen=True, kw_only=True):
    """The parts of a run that its workers need."""

    config: RunConfig
    tasks: Sequence[Task]
    pins: Mapping[str, Any]
    """The pins of the run's record (`RunRecord.pins`)."""
    out: Path | None = None
    """The run's folder, if the user named one."""
    log_folder: Path | None = None
    """The log folder for agents that keep a log."""
    dialogues: int
    """Maximum number of concurrent dialogues on one machine."""
    speaks: bool = True
    """False if the workers run no dialogues, and only score finished ones."""


class RemoteExecutor(ABC):
    """Base class of executors whose workers are separate processes."""

    def __init__(self, plan: Plan) -> None:
        self.isolation = ""
        self.environments: dict[str, str] = {}
        self.learned: dict[str, list[str]] = {}
        self._plan = plan
        self._places = {task.id: place for place, task in enumerate(plan.tasks)}
        self._said = set[str]()

    @abstractmethod
    async def __aenter__(self) -> RemoteExecutor: ...

    @abstractmethod
    async def __aexit__(self, *error: object) -> None: ...

    @abstractmethod
    async def run(self, queue: CellQueue) -> None:
        """Run and score the planned dialogues in a queue until the queue is empty.

        Raises the errors that the queue raises.
        """

    def _worker(self, host: Host, share: Share) -> Worker:
        plan = self._plan
        start = Start(
            config=plan.config,
            share=share,
            tasks=tuple(plan.tasks),
            out=str(plan.out) if plan.out else None,
            log_folder=str(plan.log_folder) if plan.log_folder else None,
            speaks=plan.speaks,
        )
        return Worker(host, start, self._log)

    def _give_back(self, worker: Worker, lost: WorkerError, queue: CellQueue) -> None:
        """Put a lost worker's dialogues back into the queue; record a dialogue that was lost too often as failed."""
        for job in queue.give_back(worker.jobs.values()):
            queue.finished(_given_up(job, lost))

    def _note_learned(self, worker: Worker) -> None:
        for role, sentences in worker.learned.items():
            known = self.learned.setdefault(role, [])
            known += [sentence for sentence in sentences if sentence not in known]

    def _log(self, line: Logged) -> None:
        """Log a line from a worker. If several workers send the same text, log it only once."""
        if line.text not in self._said:
            self._said.add(line.text)
            logger.log(line.level, "%s", line.text)


def _given_up(job: Job, lost: WorkerError) -> Rollout:
    """Return the rollout of a job whose workers were lost too often.

    If `job` has a rollout of an earlier attempt (`job.kept`), return this rollout. If this rollout is settled, the
    failure replaces its scores. Without an earlier rollout, return a failed rollout without turns.
    """
    failure, kept = failure_of(lost), job.kept
    if kept:
        return replace(kept, failure=failure, scores={}) if kept.settled else kept
    return make_rollout(
        job.cell, turns=(), ending=None, failure=failure, started=now(), seconds=0.0
    )
