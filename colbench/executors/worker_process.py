"""One worker as the process of the run sees it: started, handed cells, and stopped or lost."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress

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
    Start,
    Stopped,
    Waiting,
    error_of,
)
from colbench.models.servers import current_servers
from colbench.participants import LEAVING

STOP_GRACE = 4.0
"""Seconds that a worker has to end; as much more as agent and human have when nothing hurries it."""
_BOOT = (
    "import sys; sys.path[:] = sys.argv[3:]; "
    "from colbench.executors.worker import main; main(int(sys.argv[1]), int(sys.argv[2]))"
)
"""`-P` keeps the folder where it is started out of the path until then."""


class WorkerProcess:
    """A worker; `log` is called with each line that it logs."""

    def __init__(self, start: Start, log: Callable[[Logged], None]) -> None:
        self.jobs: dict[str, Job] = {}
        """The cells that it has, by key."""
        self.learned: dict[str, list[str]] = {}
        """Facts learned about models and servers, by role; complete when the worker has ended."""
        self._start = start
        self._log = log
        self._hurries = True
        self._process: asyncio.subprocess.Process | None = None
        self._asked: set[asyncio.Task[None]] = set()

    async def start(self) -> Ready:
        """Start it, and wait until it is ready.

        Raises UserError if it cannot be started or is lost before, and what it raises itself.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            self._link: Link[FromWorker] = await Link.over(ours, FromWorker)
            self._process = await _spawn(theirs)
        self._link.send(self._start)
        while message := await self._link.receive():
            match message:
                case Ready():
                    return message
                case Stopped():
                    raise error_of(message)
                case Logged():
                    self._log(message)
        raise UserError(f"--processes: {await self._obituary()} before it was ready")

    async def serve(self, queue: CellQueue, places: Mapping[str, int]) -> WorkerError | None:
        """Hand out the cells of a queue, and take back their rollouts, until there are no more.

        `places` holds by id where a task is among those of the run. Returns why the worker was lost, if it was. Raises
        what the queue raises.
        """
        self._link.send(Begin())
        try:
            with queue.stopping(lambda: self._link.send(NoMore())):
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
            case Stopped():
                queue.stop(error_of(message))
            case Logged():
                self._log(message)

    async def _hand_out(self, queue: CellQueue, places: Mapping[str, int]) -> None:
        try:
            job = await queue.next()
        except ColBenchError as error:  # such as a task of which not all can be told
            queue.stop(error)
            return
        if job is None:
            self._link.send(NoMore())
            return
        cell = job.cell
        self.jobs[cell.key] = job
        self._link.send(
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
        """End it: in order, and after a grace at once."""
        if self._process is None:
            return
        self._link.close()
        try:
            await self._ended(STOP_GRACE if self._hurries else STOP_GRACE + LEAVING)
        finally:
            with suppress(ProcessLookupError):
                self._process.kill()
        await self._process.wait()

    async def _ended(self, within: float) -> int | None:
        """Return the exit code, if it ends within so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                return await self._process.wait() if self._process else None
        return None

    async def _obituary(self) -> str:
        """Return how it ended."""
        code = await self._ended(STOP_GRACE)
        if code is None:
            return "a process of the run no longer speaks"
        if code >= 0:
            return f"a process of the run ended with code {code}"
        short = ", as when the system is short of memory" if -code == signal.SIGKILL else ""
        return f"a process of the run was ended by signal {-code}{short}"


async def _spawn(end: socket.socket) -> asyncio.subprocess.Process:
    """Start the process of a worker, whose end of the link is given."""
    try:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-c", _BOOT, str(end.fileno()), str(os.getpid()), *_path()),
            stdin=asyncio.subprocess.DEVNULL,
            pass_fds=(end.fileno(),),
            start_new_session=True,
        )
    except OSError as cause:
        raise UserError(f"--processes: a process cannot be started: {cause.strerror}") from cause


def _path() -> list[str]:
    """Return the places where modules are looked for."""
    return [os.path.abspath(entry) if entry else "" for entry in sys.path]
