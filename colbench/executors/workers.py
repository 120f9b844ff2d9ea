"""One worker, as seen by the run's process.

The run's process starts the worker, sends it cells, stops it, and notices if it is lost. A worker is a process with an
event loop (`worker`) on any machine; its host starts and ends the process.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from typing import Protocol

from colbench.cell_queue import CellQueue, Job
from colbench.errors import ColBenchError, UserError, WorkerError
from colbench.executors.messages import (
    Begin,
    Ended,
    Finished,
    FromWorker,
    Give,
    Link,
    Logged,
    Next,
    NoMore,
    Over,
    Ready,
    Replied,
    Sharers,
    Start,
    Stopped,
    Waiting,
    error_of,
)
from colbench.models.servers import current_servers
from colbench.participants import LEAVING

STOP_GRACE = 4.0
"""Seconds within which a worker must stop. A worker that has sent `Over` gets `LEAVING` more seconds."""


class Host(Protocol):
    """The host of one worker's process, which starts and ends the process."""

    flag: str
    """The flag that requested the process, for error messages."""

    async def start(self, end: socket.socket) -> None:
        """Start the process, and pass it `end`, the process's end of the link. Raises UserError if it cannot start."""
        ...

    async def ended(self, within: float) -> str | None:
        """Return a description of how the process ended; None if it does not end within this many seconds."""
        ...

    async def kill(self) -> None:
        """End the process at once."""
        ...


class Worker:
    """A worker, as seen by the run's process.

    `host` starts and ends the worker's process, `start` is the first message to the worker, and `log` is called with
    each line of the worker's log.
    """

    def __init__(self, host: Host, start: Start, log: Callable[[Logged], None]) -> None:
        self.jobs: dict[str, Job] = {}
        """The worker's current cells, by key."""
        self.learned: dict[str, list[str]] = {}
        """Properties of models and servers that the worker has found, by role; empty until the worker sends `Over`."""
        self._host = host
        self._start = start
        self._log = log
        self._hurries = True
        self._link: Link[FromWorker] | None = None
        self._asked: set[asyncio.Task[None]] = set()

    async def start(self) -> Ready:
        """Start the worker, and wait until it is ready.

        Raises UserError if the worker cannot be started or is lost before it is ready, and any error that the worker
        reports.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            self._link = await Link.over(ours, FromWorker)
            await self._host.start(theirs)
        self._link.send(self._start)
        while message := await self._link.receive():
            match message:
                case Ready():
                    return message
                case Stopped():
                    raise error_of(message)
                case Logged():
                    self._log(message)
        raise UserError(
            f"{self._host.flag}: a process was lost while it started: {await self._obituary()}"
        )

    async def serve(
        self, queue: CellQueue, places: Mapping[str, int], sharers: int
    ) -> WorkerError | None:
        """Send planned dialogues from the queue to the worker, and receive their rollouts, until the queue is empty.

        `places` maps the id of a task to its index in the run. `sharers` is the number of workers that share the limits
        of model servers. Returns an error if the worker was lost before the run was stopped, else None. Raises the
        errors that the queue raises.
        """
        if self._link is None:
            raise RuntimeError("Worker.start must be called before Worker.serve")
        self._link.send(Begin(sharers=sharers))
        try:
            with queue.stopping(lambda: self._send(NoMore())):
                while message := await self._link.receive():
                    if isinstance(message, Over):
                        self.learned, self._hurries = message.learned, False
                        return None
                    self._take(message, queue, places)
        finally:
            current_servers().waits_elsewhere.pop(self, None)
            for task in self._asked:
                task.cancel()
        if queue.stopped:
            return None
        return WorkerError(await self._obituary())

    def share(self, sharers: int) -> None:
        """Tell the worker how many workers share the limits of model servers."""
        self._send(Sharers(count=sharers))

    def _send(self, message: NoMore | Give | Sharers) -> None:
        if self._link:
            self._link.send(message)

    def _take(self, message: FromWorker, queue: CellQueue, places: Mapping[str, int]) -> None:
        match message:
            case Next():
                task = asyncio.create_task(self._hand_out(queue, places))
                self._asked.add(task)
                task.add_done_callback(self._asked.discard)
            case Ended(failure=failure):
                queue.ended(failure)
            case Finished(rollout=rollout):
                del self.jobs[rollout.key]
                queue.finished(rollout)
            case Waiting(waits=waits):
                current_servers().waits_elsewhere[self] = waits
            case Replied(total=total):
                queue.replies.elsewhere[self] = total
            case Stopped():
                queue.stop(error_of(message))
            case Logged():
                self._log(message)

    async def _hand_out(self, queue: CellQueue, places: Mapping[str, int]) -> None:
        try:
            job = await queue.next()
        except ColBenchError as error:  # such as a task whose decisions cannot all be revealed
            queue.stop(error)
            return
        if job is None:
            self._send(NoMore())
            return
        cell = job.cell
        self.jobs[cell.key] = job
        self._send(
            Give(
                task=places[cell.task.id],
                trial=cell.trial,
                key=cell.key,
                seed=cell.seed,
                request=cell.request,
                kept=job.kept,
            )
        )

    async def stop(self) -> None:
        """Stop the worker in an orderly way, or kill it after a grace period."""
        if self._link is None:
            return
        self._link.close()
        try:
            await self._host.ended(STOP_GRACE if self._hurries else STOP_GRACE + LEAVING)
        finally:
            await self._host.kill()

    async def _obituary(self) -> str:
        """Describe how the worker ended."""
        return await self._host.ended(STOP_GRACE) or "a process of the run has stopped responding"
