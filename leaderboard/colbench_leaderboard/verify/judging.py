"""Judging dialogues: the answer scored anew, the human asked again, and what was known untold."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager

from msgspec import Struct

from colbench.config import RunConfig
from colbench.domain import get_domain
from colbench.errors import InfrastructureError, UserError
from colbench.rollout import Rollout
from colbench.session import Session
from colbench.task import Task
from colbench_leaderboard.archive import Cell
from colbench_leaderboard.verify.disclosure import Disclosure, disclosure
from colbench_leaderboard.verify.replay import replay

AHEAD = 4
"""Dialogues that are being judged at once, for each worker."""


class Judged(Struct, frozen=True, kw_only=True):
    """What came of judging a dialogue."""

    cell: Cell
    rollout: Rollout
    """Scored, where there is an answer."""
    told: Disclosure | None
    """None without an answer."""
    drawn: bool
    """Whether the human was asked again."""
    same: int
    """Replies that it gave again."""
    differs: str
    """How the first reply differs that it did not."""


class Judge:
    """Judges the dialogues of one domain with the equipment of this machine."""

    def __init__(self, session: Session, at_once: int) -> None:
        self._session = session
        self._at_once = at_once

    async def judged(self, cells: Iterable[tuple[Cell, Task, bool]]) -> AsyncIterator[Judged]:
        """What comes of each dialogue, in their order; with each its task and whether the human is asked again.

        Raises UserError where this machine failed.
        """
        waiting: deque[asyncio.Task[Judged]] = deque()
        try:
            for cell, task, drawn in cells:
                waiting.append(asyncio.create_task(self._judge(cell, task, drawn)))
                if len(waiting) >= self._at_once:
                    yield await waiting.popleft()
            while waiting:
                yield await waiting.popleft()
        except InfrastructureError as cause:
            raise UserError(
                f"this machine cannot judge the bundle: {cause.boundary}: {cause}"
            ) from cause
        finally:
            for left in waiting:
                left.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def _judge(self, cell: Cell, task: Task, drawn: bool) -> Judged:
        rollout = cell.rollout
        same, differs = await replay(self._session.human, task, rollout) if drawn else (0, "")
        told = None
        if rollout.answer is not None:
            rollout = await self._session.score(rollout, task)
            if rollout.failure:
                failed = rollout.failure
                raise InfrastructureError(f"{task.id}: {failed.boundary}: {failed.reason}")
            score = rollout.scores["default"]
            told = disclosure(task, rollout, success=score.success)
        return Judged(
            cell=cell, rollout=rollout, told=told, drawn=drawn, same=same, differs=differs
        )


@asynccontextmanager
async def judge(config: RunConfig, tasks: Sequence[Task], domain: str) -> AsyncIterator[Judge]:
    """A judge for these tasks, ready to work. Raises UserError where this machine lacks what it needs."""
    session = Session(config, tasks=tasks, human="keyless")
    own = get_domain(domain)
    if own.primary.name in session.resources.by_domain[domain].lacking():
        raise UserError(
            f"{domain}: answers are verified by their {own.primary.label}, which cannot be computed "
            f"here. {own.remedy}"
        )
    async with session:
        yield Judge(session, AHEAD * session.resources.workers)
