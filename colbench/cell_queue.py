"""The queue of a run, which hands out cells, receives the cells' outcomes, and decides when the run stops early."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from colbench.cells import Cell
from colbench.errors import AgentError, ColBenchError, EndpointError
from colbench.failures import broken_agent, is_own_fault
from colbench.rollout import Failure, Rollout, is_settled

GIVE_UP_AFTER = 20
"""Number of consecutive dialogues after which a run stops if a model server or the human failed in all of them."""
LOSSES = 2
"""Number of lost workers after which a cell is not run again in this attempt at the run."""
REPLIES_INTERVAL = 1.0
"""Seconds between two reports of the number of the agent's replies."""
SCORING_BOUNDARIES = {"scorer", "sandbox", "render"}


class Job(Struct, frozen=True, kw_only=True):
    """A cell (planned dialogue) to run and score, or only to score again."""

    cell: Cell
    kept: Rollout | None = None
    """The cell's dialogue from an earlier attempt, which only needs to be scored again."""
    lost: int = 0
    """Number of workers that were lost while running this cell."""


class ReplyCount:
    """The number of the agent's replies in this attempt at a run, in finished and unfinished dialogues."""

    def __init__(self) -> None:
        self.elsewhere: dict[object, int] = {}
        """Numbers of replies in other processes, by the object that reports them."""
        self._ended = 0
        self._running: dict[int, Sized] = {}

    @property
    def total(self) -> int:
        """The number of replies so far."""
        return self._ended + sum(map(len, self._running.values())) + sum(self.elsewhere.values())

    @contextmanager
    def including(self, turns: Sized) -> Iterator[None]:
        """Include a dialogue's turns in the total. While the context is open, `turns` may still grow."""
        self._running[id(turns)] = turns
        try:
            yield
        finally:
            self._ended += len(self._running.pop(id(turns)))


class CellSource(Protocol):
    """A source of dialogues to run, which also takes their outcomes: a `CellQueue`, or a link to a remote queue."""

    replies: ReplyCount

    async def next(self) -> Job | None:
        """Return the next dialogue to run; None when the run is over."""
        ...

    def ended(self, failure: Failure | None) -> None:
        """Record how a dialogue ended, before it is scored."""
        ...

    def finished(self, rollout: Rollout) -> None:
        """Record a finished rollout. An exception raised here ends the run immediately."""
        ...

    def stop(self, error: ColBenchError) -> None:
        """Stop the dialogues of the run because of an error; dialogues that have ended are still scored."""
        ...

    def stopping(self, stop: Callable[[], None]) -> AbstractContextManager[None]:
        """Call `stop` as soon as the dialogues of the run must stop, if that happens while the context is open."""
        ...


class Stops:
    """The functions to call when the dialogues of a run must stop."""

    def __init__(self) -> None:
        self._calls: list[Callable[[], None]] = []

    @contextmanager
    def stopping(self, stop: Callable[[], None]) -> Iterator[None]:
        """Call `stop` as soon as the dialogues must stop, if that happens while the context is open."""
        self._calls.append(stop)
        try:
            yield
        finally:
            self._calls.remove(stop)

    def _stop_dialogues(self) -> None:
        for stop in self._calls:
            stop()


class CellQueue(Stops):
    """A queue of one run's cells, one per dialogue, for any number of runners.

    `earlier` maps cell keys to rollouts of an earlier attempt; `done` is called with each finished rollout. The run
    ends if its first `broken_after` settled dialogues (`Rollout.settled`) all failed in the agent's own code. The
    dialogues in `earlier` are among these settled dialogues. If `broken_after` is None, the run never ends for this
    reason.
    """

    def __init__(
        self,
        cells: Iterable[Cell],
        earlier: Mapping[str, Rollout],
        done: Callable[[Rollout], None],
        broken_after: int | None = None,
    ) -> None:
        super().__init__()
        self.replies = ReplyCount()
        self.stopped: ColBenchError | None = None
        """The error that stopped the dialogues; None if they were not stopped."""
        self._cells = iter(cells)
        self._upcoming = next(self._cells, None)
        self._earlier = earlier
        self._done = done
        self._broken_after = broken_after
        self._returned: deque[Job] = deque()
        self._running = 0
        self._changed = asyncio.Event()
        self._unanswered = 0
        watched = earlier.values() if broken_after else ()
        self._faulty = [each for each in watched if _faulty(each.failure)]
        self._works = any(each.settled and not _faulty(each.failure) for each in watched)
        """True if at least one settled dialogue did not fail in the agent's own code."""

    @property
    def is_over(self) -> bool:
        """True if the queue will hand out no more cells."""
        return bool(self.stopped) or not (self._upcoming or self._returned or self._running)

    async def next(self) -> Job | None:
        """Return the next dialogue to run; None when all dialogues are finished or were stopped.

        While the last dialogues run, this method waits: if a worker is lost, its dialogues are handed out again.
        """
        while not self.is_over:
            if job := self._take():
                self._running += 1
                return job
            self._changed.clear()
            await self._changed.wait()
        return None

    def _take(self) -> Job | None:
        if self._returned:
            return self._returned.popleft()
        cell = self._upcoming
        if cell is None:
            return None
        self._upcoming = next(self._cells, None)
        kept = self._earlier.get(cell.key)
        return Job(cell=cell, kept=kept if kept and _only_scoring_failed(kept) else None)

    def ended(self, failure: Failure | None) -> None:
        """Record how a dialogue ended; stop the run after `GIVE_UP_AFTER` failures of servers or humans in a row."""
        self._works = self._works or (is_settled(failure) and not _faulty(failure))
        lost = failure is not None and failure.boundary in {"endpoint", "simulator"}
        self._unanswered = self._unanswered + 1 if lost else 0
        if failure and self._unanswered >= GIVE_UP_AFTER:
            reason = (
                f"{GIVE_UP_AFTER} dialogues in a row failed because of a model server or the human; the last failure: "
                f"{failure.reason}"
            )
            self.stop(EndpointError(reason))

    def finished(self, rollout: Rollout) -> None:
        """Record a finished rollout.

        Raises AgentError if the first `broken_after` settled dialogues all failed in the agent's own code.
        """
        self._running -= 1
        if not self._running:
            self._changed.set()
        self._done(rollout)
        if not self._broken_after or self._works:
            return
        if _faulty(rollout.failure):
            self._faulty.append(rollout)
        if len(self._faulty) >= self._broken_after:
            raise AgentError(broken_agent(self._faulty))

    def give_back(self, jobs: Iterable[Job]) -> list[Job]:
        """Take back the jobs of a lost worker.

        Return the jobs whose workers were lost too often; the caller must record these jobs as failed.
        """
        again = [replace(job, lost=job.lost + 1) for job in jobs]
        kept = [job for job in again if job.lost < LOSSES]
        self._returned.extend(kept)
        self._running -= len(kept)
        self._changed.set()
        return [job for job in again if job.lost >= LOSSES]

    def stop(self, error: ColBenchError) -> None:
        """Stop the dialogues of all runners, and keep the first error for `raise_stopped`."""
        if self.stopped is None:
            self.stopped = error
            self._changed.set()
            self._stop_dialogues()

    def raise_stopped(self) -> None:
        """Raise the error that stopped the dialogues, if there is one."""
        if self.stopped:
            raise self.stopped


def _faulty(failure: Failure | None) -> bool:
    return failure is not None and is_own_fault(failure)


def _only_scoring_failed(rollout: Rollout) -> bool:
    failure = rollout.failure
    return (
        rollout.answer is not None
        and failure is not None
        and failure.boundary in SCORING_BOUNDARIES
    )
