"""The class `CodeSandbox`, with which the rest of ColBench runs candidates in the processes of fork servers."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from types import TracebackType

from colbench import config
from colbench.errors import SandboxError
from colbench.sandbox.jobs import Job, JobResult, Limits
from colbench.sandbox.packages import find_packages
from colbench.sandbox.pool import JOBS_EACH, Pool
from colbench.sandbox.selection import choose
from colbench.sandbox.tiers import Tier
from colbench.sandbox.work import Ending, Work

_NOT_OPEN = "the sandbox must be used inside `async with`"


class CodeSandbox:
    """A sandbox that runs candidates (untrusted code), each in its own process; an asynchronous context manager.

    Up to `workers` candidates (0: one per core) and one rehearsal (`Job.rehearsal`) run at a time. `tier` names a level
    of isolation, by default the strongest permitted one that works on this machine. `allow_unsafe` permits tier T2,
    which only limits resources. `packages` names installed distributions that candidates may import, together with
    their dependencies. `limits`: the limits of each call, by default `Limits()`.

    The constructor raises UserError if a package is not installed or has no modules. Opening the context raises
    UserError if `tier` is unknown or not permitted, or if no permitted tier works. Use a sandbox from one event loop
    only.
    """

    def __init__(
        self,
        workers: int = 0,
        allow_unsafe: bool = False,
        tier: str | None = None,
        *,
        packages: Sequence[str] = (),
        limits: Limits | None = None,
    ) -> None:
        self._count = config.workers(workers)
        self._allow_unsafe = allow_unsafe
        self._wanted = tier
        self._packages = find_packages(packages)
        self._limits = limits or Limits()
        self._tier: Tier | None = None
        self._pools: dict[bool, Pool] = {}

    @property
    def environment(self) -> str:
        """The tier, Python version, requested packages and time limits, as recorded in every score.

        Raises SandboxError before the context is opened.
        """
        if self._tier is None:
            raise SandboxError(_NOT_OPEN)
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        limits = self._limits
        python = ", ".join((f"CPython {version}", *self._packages.versions))
        return (
            f"{self._tier.name} {self._tier.words} · {python} · "
            f"{limits.cpu_seconds:g} s CPU, {limits.wall_seconds:g} s wall a call"
        )

    async def __aenter__(self) -> CodeSandbox:
        self._tier, first = await choose(
            self._wanted, self._allow_unsafe, self._limits, self._packages
        )
        self._pools = {
            False: Pool(self._tier, self._limits, self._count),
            True: Pool(self._tier, self._limits, 1, rehearsal=True),
        }
        self._pools[False].adopt(first)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for pool in self._pools.values():
            pool.close()

    async def run(self, jobs: Sequence[Job]) -> list[JobResult | SandboxError]:
        """Return one result per job, in the order of the jobs. If `run_one` raises SandboxError, that is the result."""
        results: dict[int, JobResult | SandboxError] = {}
        numbered = iter(enumerate(jobs))

        async def work_off() -> None:
            for number, job in numbered:
                results[number] = await self._run_or_error(job)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._count * JOBS_EACH, len(jobs))):
                group.create_task(work_off())
        return [results[number] for number in range(len(jobs))]

    async def run_one(self, job: Job) -> JobResult:
        """Return the result of one job.

        Raises SandboxError if the sandbox itself failed twice in a row, or if the context is not open.
        """
        if not self._pools:
            raise SandboxError(_NOT_OPEN)
        work = Work(job, self._limits)
        while work.left:
            work.absorb(await self._attempt(self._pools[job.rehearsal], work))
        return work.result()

    async def _attempt(self, pool: Pool, work: Work) -> Ending:
        try:
            async with pool.worker() as worker:
                return await worker.run(work.payload(), work.left)
        except SandboxError:
            async with pool.worker() as worker:
                return await worker.run(work.payload(), work.left)

    async def _run_or_error(self, job: Job) -> JobResult | SandboxError:
        try:
            return await self.run_one(job)
        except SandboxError as error:
            return error
