"""Judging dialogues: scoring the answer again, replaying the human, and auditing disclosure."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from msgspec import Struct

from colbench.asking.derive import with_asking
from colbench.config import RunConfig
from colbench.dialogue import Ending
from colbench.errors import InfrastructureError, UserError
from colbench.interfaces import ProgressScorer
from colbench.registry import get_domain
from colbench.rollout import Rollout, Turn
from colbench.runner import make_rollout
from colbench.session import Session
from colbench.task import Task
from colbench_leaderboard.bundle.read import Cell
from colbench_leaderboard.bundle.tracks import HUMAN
from colbench_leaderboard.verify.disclosure import Disclosure, disclosure
from colbench_leaderboard.verify.guessing import GuessRates
from colbench_leaderboard.verify.receipt import CellScore
from colbench_leaderboard.verify.replay import replay
from colbench_leaderboard.verify.scores import scored_cell

T = TypeVar("T")
AHEAD = 4
"""Number of dialogues that are judged concurrently, per worker."""


class Judged(Struct, frozen=True, kw_only=True):
    """The result of judging a dialogue."""

    cell: Cell
    score: CellScore | None
    """None if the scorer cannot judge the task."""
    scorer: str
    """Name of the scorer; "" if there is no answer."""
    told: Disclosure | None
    """Disclosure of the hidden facts; None if there is no answer."""
    replayed: bool
    """True if the human was asked again for its replies."""
    same: int
    """Number of replies that the human gave again when replayed."""
    differs: str
    """Description of the first reply that the human did not give again; "" if no such reply was found."""


class Judge:
    """A judge of the dialogues of one domain, which uses the resources of this machine."""

    def __init__(self, session: Session, domain: str, rates: GuessRates, *, keyless: bool) -> None:
        self._session, self._rates, self._keyless = session, rates, keyless
        self._at_once = AHEAD * session.resources.workers
        self._judges_turns = isinstance(session.resources.scorers()[domain], ProgressScorer)

    async def judged(self, cells: Iterable[tuple[Cell, Task, bool]]) -> AsyncIterator[Judged]:
        """Yield the result of each dialogue, in order.

        Each tuple in `cells` has a dialogue, its task, and True if the human must be asked again for the replies.
        Raises UserError if this machine cannot judge a dialogue.
        """
        async for judged in self._in_order(self._judge(*each) for each in cells):
            yield judged

    async def void(self, tasks: Sequence[Task]) -> list[Task]:
        """Return the tasks that the scorer cannot judge with any answer. Raises the same errors as `judged`."""
        blanks = self._in_order(self._scored(self._blank(task), task) for task in tasks)
        values = [blank.scores["default"].value async for blank in blanks]
        return [task for task, value in zip(tasks, values, strict=True) if value is None]

    async def _in_order(self, jobs: Iterable[Coroutine[Any, Any, T]]) -> AsyncIterator[T]:
        """Run several jobs at a time, and yield their results in order."""
        waiting: deque[asyncio.Task[T]] = deque()
        try:
            for job in jobs:
                waiting.append(asyncio.create_task(job))
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

    async def _judge(self, cell: Cell, task: Task, again: bool) -> Judged:
        rollout = cell.rollout
        same, differs = await replay(self._session.human, task, rollout) if again else (0, "")
        scorer, told = "", None
        if rollout.answer is None:
            rollout = with_asking(task, rollout)
        else:
            rollout = await self._scored(rollout, task)
            score = rollout.scores["default"]
            scorer = score.scorer
            told = disclosure(
                task, rollout, success=score.success, rates=self._rates, keyless=self._keyless
            )
        return Judged(
            cell=cell,
            score=scored_cell(rollout, judges_turns=self._judges_turns),
            scorer=scorer,
            told=told,
            replayed=again,
            same=same,
            differs=differs,
        )

    def _blank(self, task: Task) -> Rollout:
        """Return a dialogue with an empty answer, whose score shows whether the task can be judged."""
        return make_rollout(
            self._session.cell(task),
            turns=(Turn(raw="", said=""),),
            ending=Ending(answer="", ended_by="answer"),
            failure=None,
            started="",
            seconds=0.0,
        )

    async def _scored(self, rollout: Rollout, task: Task) -> Rollout:
        """Return a dialogue with its scores. Raises InfrastructureError if the scoring fails."""
        scored = await self._session.score(rollout, task)
        if failed := scored.failure:
            error = InfrastructureError(f"{task.id}: {failed.reason}")
            error.boundary = failed.boundary
            raise error
        return scored


@asynccontextmanager
async def judge(
    config: RunConfig, tasks: Sequence[Task], domain: str, *, keyless: bool
) -> AsyncIterator[Judge]:
    """Start a judge for tasks of a domain; `keyless`: True if the human of the dialogues is rule-based.

    Raises UserError if this machine lacks something that the scorer needs.
    """
    session = Session(config, tasks=tasks, human=HUMAN)
    own = get_domain(domain)
    if own.primary.name in session.resources.by_domain[domain].lacking():
        raise UserError(
            f"{domain}: answers are verified by the {own.primary.label}, which cannot be "
            f"computed on this machine. {own.remedy}"
        )
    async with session:
        yield Judge(session, domain, GuessRates(tasks), keyless=keyless)
