"""A fixed number of fork servers (workers). Each is started when it is first needed, and replaced when it fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from colbench.errors import SandboxError
from colbench.sandbox.jobs import Limits
from colbench.sandbox.tiers import Tier
from colbench.sandbox.worker import Worker

_LEFT = "the sandbox is closed"
JOBS_EACH = 2
"""Maximum number of jobs that a worker has at a time: one runs, and the next one waits in the worker."""


class Pool:
    """A pool of at most `count` workers, each with up to `JOBS_EACH` jobs at a time.

    `rehearsal`: True if the workers run rehearsals (`Job.rehearsal`), for which they use another hash seed.
    """

    def __init__(self, tier: Tier, limits: Limits, count: int, *, rehearsal: bool = False) -> None:
        self._places = [_Place(tier, limits, rehearsal) for _ in range(count)]
        self._free = asyncio.Semaphore(count * JOBS_EACH)
        self._closed = False

    def adopt(self, worker: Worker) -> None:
        """Take over a worker that is already running."""
        self._places[0].worker = worker

    @asynccontextmanager
    async def worker(self) -> AsyncIterator[Worker]:
        """Yield the worker with the fewest jobs. Callers are served in order of arrival.

        If a SandboxError is raised inside the context, the worker is killed, and a new one serves later callers.
        Opening the context raises SandboxError if the pool is closed or the worker does not start.
        """
        async with self._free:
            if self._closed:
                raise SandboxError(_LEFT)
            place = min(self._places, key=lambda place: place.jobs)
            place.jobs += 1
            try:
                worker = await place.running()
                try:
                    yield worker
                except SandboxError:
                    place.give_up(worker)
                    raise
            finally:
                place.jobs -= 1

    def close(self) -> None:
        """Kill every server, including those about to start, and start no more servers."""
        self._closed = True
        for place in self._places:
            place.close()


class _Place:
    """A slot for a worker, with a count of the worker's jobs."""

    def __init__(self, tier: Tier, limits: Limits, rehearsal: bool) -> None:
        self.worker: Worker | None = None
        self.jobs = 0
        self._tier = tier
        self._limits = limits
        self._rehearsal = rehearsal
        self._starting = asyncio.Lock()
        self._closed = False

    async def running(self) -> Worker:
        """Return the worker; start it if needed. Raises SandboxError if the start fails or the slot is closed."""
        async with self._starting:
            if self.worker is None and not self._closed:
                self.worker = await Worker.start(
                    self._tier, self._limits, rehearsal=self._rehearsal
                )
                if self._closed:
                    self.close()
            if self.worker is None:
                raise SandboxError(_LEFT)
            return self.worker

    def close(self) -> None:
        """Kill the worker; a worker that is about to start is killed after its start."""
        self._closed = True
        if self.worker:
            self.give_up(self.worker)

    def give_up(self, worker: Worker) -> None:
        """Kill this worker, unless another one has replaced it."""
        if self.worker is worker:
            self.worker = None
            worker.close()
