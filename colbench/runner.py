"""The runner, which runs many dialogues of a run at a time, and scores answers while other dialogues continue."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TypeGuard, cast

from msgspec import Struct
from msgspec.structs import replace

from colbench.audits import Auditor, InProcess
from colbench.cell_queue import CellQueue, CellSource
from colbench.cells import Cell
from colbench.clock import Abandon, Clock, supervised
from colbench.dialogue import Ending, opened, play
from colbench.errors import (
    AgentError,
    ColBenchError,
    InfrastructureError,
    ScorerError,
    boundary,
)
from colbench.event_loop import RARE_COLLECTIONS, first_of
from colbench.interfaces import (
    Agent,
    Episode,
    HumanSimulator,
    ProgressScorer,
    ReplyScorer,
    Scorer,
    StatefulAgent,
)
from colbench.loop_watch import watched_loop
from colbench.registry import get_domain
from colbench.rollout import Failure, Followed, Rollout, Turn, failure_of
from colbench.run_folder import now
from colbench.score import Score
from colbench.task import Task

SCORING_BACKLOG = 2
"""Maximum number of finished dialogues, per sandbox worker, that wait to be scored or are being scored."""
AUDIT_BACKLOG = 128
"""Maximum number of scored dialogues that wait for their audits. A killed process loses at most these finished
dialogues and the dialogues that wait for sandbox workers."""


class Runner(Struct, frozen=True, kw_only=True):
    """A runner of dialogues, with the agent, the human, the scorers and the limits of a run."""

    agent: Agent | StatefulAgent
    human: HumanSimulator
    scorers: Mapping[str, Scorer]
    max_turns: int
    concurrency: int
    dialogue_timeout: float
    scoring_slots: int
    record_tokens: bool = False
    auditor: Auditor = InProcess()

    async def run(
        self, cells: Iterable[Cell], earlier: Mapping[str, Rollout], done: Callable[[Rollout], None]
    ) -> None:
        """Run and score every cell; `done` is called with each rollout as soon as the rollout is finished.

        `earlier` maps keys to rollouts of an earlier attempt that are not settled (`Rollout.settled`). If only the
        scoring of such a dialogue failed, the dialogue is only scored, and not run again. Raises EndpointError if
        `GIVE_UP_AFTER` dialogues in a row failed because of a model server or the human (`CellQueue.ended`). Raises
        UserError if a model server refuses the key or the URL.
        """
        queue = CellQueue(cells, earlier, done)
        await self.serve(queue)
        queue.raise_stopped()

    async def serve(self, source: CellSource) -> None:
        """Run and score the dialogues that a source hands out, until the source is empty.

        An error that stops the dialogues, such as a refused key, is reported to the source. An error that the
        source raises is passed on.
        """
        work = _Workers(self, source)
        try:
            with watched_loop(), RARE_COLLECTIONS, source.stopping(work.stop):
                async with asyncio.TaskGroup() as group:
                    for _ in range(self.concurrency):
                        group.create_task(work.run_cells(group))
        except ExceptionGroup as errors:
            raise first_of(errors) from None

    async def run_dialogue(self, cell: Cell, turns: list[Turn] | None = None) -> Rollout:
        """Run the dialogue of a cell, and return its unscored rollout.

        An AgentError or InfrastructureError becomes the rollout's failure. `turns`: the list to which turns are
        appended. Raises UserError if a model server refuses the key or the URL.
        """
        started, start = now(), time.perf_counter()
        turns = [] if turns is None else turns
        ending: Ending | None = None
        failure: Failure | None = None
        try:
            ending = await supervised(lambda abandon: self._play(cell, turns, abandon))
        except (AgentError, InfrastructureError) as error:
            failure = failure_of(error)
        seconds = time.perf_counter() - start
        return make_rollout(
            cell, turns=turns, ending=ending, failure=failure, started=started, seconds=seconds
        )

    async def _play(self, cell: Cell, turns: list[Turn], abandon: Abandon) -> Ending:
        clock = Clock(self.dialogue_timeout, AgentError, abandon)
        episode = Episode(
            id=cell.key[:16],
            seed=cell.seed,
            max_turns=self.max_turns,
            domain=cell.task.domain,
            record_tokens=self.record_tokens,
        )
        with boundary(AgentError):
            async with opened(self.agent, episode, clock) as agent:
                return await play(
                    cell.task,
                    agent,
                    self.human,
                    max_turns=self.max_turns,
                    clock=clock,
                    turns=turns,
                    request=cell.request,
                )

    async def score(self, task: Task, rollout: Rollout) -> Rollout:
        """Return the rollout with its scores (see `verdict`) and audits."""
        return await self.auditor.audited(task, await self.verdict(task, rollout))

    async def verdict(self, task: Task, rollout: Rollout) -> Rollout:
        """Return the rollout with its scores but without audits.

        If the agent failed, the scores are 0 (`Domain.lost`). If the dialogue failed otherwise, it has no scores.
        """
        if rollout.answer is None:
            return replace(rollout, scores=_scores_of_failure(rollout))
        return await score_rollout(self.scorers[task.domain], task, rollout, rollout.answer)


class _Workers:
    def __init__(self, runner: Runner, source: CellSource) -> None:
        self.runner = runner
        self.source = source
        self.slots = asyncio.Semaphore(runner.scoring_slots * SCORING_BACKLOG)
        self.audits = asyncio.Semaphore(AUDIT_BACKLOG)
        self.speaking: set[asyncio.Task[None]] = set()
        """The asyncio tasks that are running a dialogue."""
        self.stopped = False

    async def run_cells(self, group: asyncio.TaskGroup) -> None:
        """Run dialogues. Report an error that stops the run to `source.stop`; finished dialogues are still scored."""
        try:
            while (job := await self.source.next()) and not self.stopped:
                rollout = job.kept or await self.run_dialogue(job.cell)
                await self.slots.acquire()
                group.create_task(self.finish(job.cell, rollout))
        except ColBenchError as error:
            self.source.stop(error)

    async def run_dialogue(self, cell: Cell) -> Rollout:
        turns = list[Turn]()
        with self.source.replies.including(turns), self._stoppable():
            rollout = await self.runner.run_dialogue(cell, turns)
        self.source.ended(rollout.failure)
        return rollout

    @contextmanager
    def _stoppable(self) -> Iterator[None]:
        """Let `stop` cancel the current task while the context is open."""
        task = cast("asyncio.Task[None]", asyncio.current_task())
        self.speaking.add(task)
        try:
            yield
        finally:
            self.speaking.remove(task)

    async def finish(self, cell: Cell, rollout: Rollout) -> None:
        try:
            scored = await self.runner.verdict(cell.task, rollout)
            await self.audits.acquire()
        finally:
            self.slots.release()
        try:
            audited = await self.runner.auditor.audited(cell.task, scored)
        finally:
            self.audits.release()
        self.source.finished(audited)

    def stop(self) -> None:
        """Stop the dialogues, and start no more; finished ones are still scored."""
        self.stopped = True
        for task in tuple(self.speaking):
            task.cancel()


def make_rollout(
    cell: Cell,
    *,
    turns: Sequence[Turn],
    ending: Ending | None,
    failure: Failure | None,
    started: str,
    seconds: float,
) -> Rollout:
    """Return the rollout of a cell, without scores and audits. If `ending` is None, `failure` ended the dialogue."""
    return Rollout(
        key=cell.key,
        task_id=cell.task.id,
        task_hash=cell.task.hash,
        domain=cell.task.domain,
        trial=cell.trial,
        seed=cell.seed,
        request=cell.request or cell.task.request,
        turns=tuple(turns),
        answer=ending.answer if ending else None,
        ended_by=ending.ended_by if ending else "failure",
        failure=failure,
        started=started,
        seconds=round(seconds, 3),
    )


async def score_rollout(scorer: Scorer, task: Task, rollout: Rollout, answer: str) -> Rollout:
    """Return the rollout with the verdicts on its answer and, if the scorer gives any, on its turns.

    A failure of the scorer becomes the rollout's failure.
    """
    try:
        with boundary(ScorerError):
            scores = await scorer.score(task, answer)
            _require_finite(scores.values())
            turns = rollout.turns
            if _scores_turns(scorer):
                shown = [*(turn.said for turn in turns[:-1]), answer]
                verdicts = [await scorer.score_turn(task, text) for text in shown]
                _require_finite(filter(None, verdicts))
                turns = tuple(map(_with_score, turns, verdicts))
            if _scores_replies(scorer):
                replies = [turn.human for turn in turns]
                found = await scorer.score_replies(task, shown, replies)
                turns = tuple(map(_with_followed, turns, found))
    except InfrastructureError as error:
        return replace(rollout, failure=failure_of(error), scores={})
    return replace(rollout, failure=None, turns=turns, scores=scores)


def _require_finite(scores: Iterable[Score]) -> None:
    """Raise ScorerError if a score contains an infinite number or NaN, which a rollout file cannot hold."""
    for score in scores:
        if wrong := score.flaw:
            raise ScorerError(
                f"the scorer returned {wrong}; a scorer must leave out metrics that it cannot compute, or set `value` "
                "to None"
            )


@cache
def _is(kind: type, protocol: type) -> bool:
    """Return True if a class has the methods of a protocol; cached, because checking each object is slow."""
    return issubclass(kind, protocol)


def _scores_turns(scorer: Scorer) -> TypeGuard[ProgressScorer]:
    return _is(type(scorer), ProgressScorer)


def _scores_replies(scorer: Scorer) -> TypeGuard[ReplyScorer]:
    return _is(type(scorer), ReplyScorer)


def _with_score(turn: Turn, score: Score | None) -> Turn:
    return replace(turn, score=score)


def _with_followed(turn: Turn, followed: Followed | None) -> Turn:
    return replace(turn, followed=followed)


def _scores_of_failure(rollout: Rollout) -> dict[str, Score]:
    if rollout.failure is None or not rollout.agent_failed:
        return {}
    return get_domain(rollout.domain).lost(f"the agent failed: {rollout.failure.reason}")
