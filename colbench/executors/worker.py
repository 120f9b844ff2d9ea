"""A worker process, which runs some of a run's dialogues and exchanges messages with the run (`messages.Link`).

The worker never outlives the process that started it. It ignores SIGINT and SIGTERM, because the run decides when to
stop.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import signal
import socket
import traceback
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from types import FrameType

from msgspec.structs import replace

from colbench import event_loop
from colbench.agent_isolation import find_agent, isolate
from colbench.cell_queue import REPLIES_INTERVAL, Job, ReplyCount, Stops
from colbench.cells import Cell
from colbench.errors import ColBenchError
from colbench.executors.local import LocalExecutor
from colbench.executors.messages import (
    Begin,
    Ended,
    Finished,
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
    ToWorker,
    Waiting,
    stopped,
)
from colbench.executors.worker_process import PR_SET_PDEATHSIG
from colbench.models.servers import Wait, current_servers, waits_told
from colbench.participants import find_participant
from colbench.resources import RunResources
from colbench.rollout import Failure, Rollout
from colbench.task import Task, with_shared_texts


def main(handle: int, parent: int) -> None:
    """Run a worker; do nothing if the process that started it has already ended.

    `handle` is the descriptor of the worker's end of the link. `parent` is the ID of the process that started the
    worker.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave_to_the_run)  # child processes would inherit ignored signals
    with suppress(asyncio.CancelledError):
        event_loop.run(_take_part(socket.socket(fileno=handle)))


def _leave_to_the_run(number: int, frame: FrameType | None) -> None:
    """Do nothing: the process of the run decides when to stop."""


async def _take_part(end: socket.socket) -> None:
    link: Link[ToWorker] = await Link.over(end, ToWorker)
    start = await link.receive()
    if not isinstance(start, Start):
        return
    start = replace(start, tasks=tuple(map(with_shared_texts, start.tasks)))
    with _log_sent(link):
        try:
            await _work(link, start)
        except ColBenchError as error:
            link.send(stopped(error))
        except Exception as error:
            link.send(stopped(error, traceback.format_exc()))
    await link.flush()


async def _work(link: Link[ToWorker], start: Start) -> None:
    async with _executor(start) as executor:
        link.send(
            Ready(
                isolation=executor.isolation,
                environments=executor.environments,
                pins=executor.pins,
            )
        )
        begin = await link.receive()
        if not isinstance(begin, Begin):
            return
        current_servers().share(begin.sharers)
        source = RemoteQueue(link, start.tasks)
        reading = asyncio.create_task(source.read())
        async with (
            _ends_with(reading),
            waits_told(lambda waits: link.send(_waiting(waits))),
            event_loop.every(REPLIES_INTERVAL, source.tell_replies),
        ):
            await executor.run(source)
        link.send(Over(learned=executor.learned))
        await reading  # keep the resources as long as the other workers of the run do


@asynccontextmanager
async def _ends_with(reading: asyncio.Task[None]) -> AsyncIterator[None]:
    """Within the context, cancel the current task if the run's process closes the connection."""
    work = asyncio.current_task()

    def end(_: asyncio.Task[None]) -> None:
        if work:
            work.cancel()

    reading.add_done_callback(end)
    try:
        yield
    finally:
        reading.remove_done_callback(end)


def _waiting(waits: Sequence[Wait]) -> Waiting:
    return Waiting(waits=tuple(waits))


def _executor(start: Start) -> LocalExecutor:
    """Return the executor of the dialogues, with this worker's share of the limits."""
    share, out = start.share, Path(start.out) if start.out else None
    config = replace(
        start.config,
        sandbox_workers=share.sandbox_workers,
        browser_workers=share.browser_workers,
    )
    agent = human = None
    if start.speaks:
        agent, human = find_agent(config), find_participant("human", config)
        isolate(agent, config, out)
    return LocalExecutor(
        config,
        agent,
        human,
        RunResources(config, start.tasks),
        dialogues=share.dialogues,
        log_folder=Path(start.log_folder) if start.log_folder else None,
    )


class RemoteQueue(Stops):
    """A worker's proxy for the run's queue; the worker's runner takes planned dialogues from this proxy."""

    def __init__(self, link: Link[ToWorker], tasks: Sequence[Task]) -> None:
        super().__init__()
        self.replies = ReplyCount()
        self._link = link
        self._tasks = tasks
        self._over = False
        self._waiting: deque[asyncio.Future[Job | None]] = deque()

    async def read(self) -> None:
        """Handle the messages of the run until the connection ends."""
        while message := await self._link.receive():
            if isinstance(message, Give):
                self._answer(self._job(message))
            elif isinstance(message, Sharers):
                current_servers().share(message.count)
            elif isinstance(message, NoMore):
                self._end()

    async def next(self) -> Job | None:
        """Request the next cell, and return it; None when the run is over."""
        if self._over:
            return None
        answer: asyncio.Future[Job | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(answer)
        self._link.send(Next())
        return await answer

    def ended(self, failure: Failure | None) -> None:
        """Report how a dialogue ended, before it is scored."""
        self._link.send(Ended(failure=failure))

    def finished(self, rollout: Rollout) -> None:
        """Send a finished rollout to the run."""
        self._link.send(Finished(rollout=rollout))

    def tell_replies(self) -> None:
        """Send the number of the agent's replies so far."""
        self._link.send(Replied(total=self.replies.total))

    def stop(self, error: ColBenchError) -> None:
        """Report that the run must stop, and stop this worker's dialogues."""
        self._link.send(stopped(error))
        self._end()

    def _job(self, given: Give) -> Job:
        cell = Cell(
            task=self._tasks[given.task],
            trial=given.trial,
            key=given.key,
            seed=given.seed,
            request=given.request,
        )
        return Job(cell=cell, kept=given.kept)

    def _answer(self, job: Job | None) -> None:
        while self._waiting:
            answer = self._waiting.popleft()
            if not answer.done():
                answer.set_result(job)
                return

    def _end(self) -> None:
        self._over = True
        while self._waiting:
            self._answer(None)
        self._stop_dialogues()


class _Sender(logging.Handler):
    """A log handler that sends lines of the log to the process of the run."""

    def __init__(self, link: Link[ToWorker]) -> None:
        super().__init__()
        self._link = link
        self._loop = asyncio.get_running_loop()

    def emit(self, record: logging.LogRecord) -> None:
        """Send a log line; called from any thread."""
        line = Logged(level=record.levelno, text=record.getMessage())
        self._loop.call_soon_threadsafe(self._link.send, line)


@contextmanager
def _log_sent(link: Link[ToWorker]) -> Iterator[None]:
    log, sender = logging.getLogger("colbench"), _Sender(link)
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(sender)
    try:
        yield
    finally:
        log.removeHandler(sender)
