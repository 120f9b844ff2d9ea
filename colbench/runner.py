"""The runner: runs the cells of a run, many dialogues at a time, and scores answers while other dialogues go on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from colbench.asking.derive import with_asking
from colbench.asking.opening import opening
from colbench.clock import Abandon, Clock, supervised
from colbench.config import Shard, Told
from colbench.dialogue import Ending, opened, play
from colbench.errors import (
    AgentError,
    ColBenchError,
    EndpointError,
    InfrastructureError,
    ScorerError,
    boundary,
)
from colbench.failures import broken_agent, is_own_exception
from colbench.interfaces import (
    Agent,
    Episode,
    HumanSimulator,
    ProgressScorer,
    ReplyScorer,
    Scorer,
    StatefulAgent,
)
from colbench.leaks import audit_turns
from colbench.loop_watch import watched_loop
from colbench.registry import get_domain
from colbench.rollout import Failure, Followed, Rollout, Turn, cell_key, cell_seed, failure_of
from colbench.run_folder import now
from colbench.score import Score
from colbench.shards import in_shard
from colbench.task import Task

GIVE_UP_AFTER = 20
"""Dialogues in a row that ended because a model server did not answer, before the run stops."""
SCORING_BACKLOG = 2
"""Finished dialogues that may wait for each sandbox worker; a killed process loses no more than these."""
SCORING_BOUNDARIES = {"scorer", "sandbox", "render"}


class Cell(Struct, frozen=True, kw_only=True):
    """One planned dialogue: a task and a trial."""

    task: Task
    trial: int
    key: str
    seed: int
    request: str = ""
    """The first message; by default the task's request."""


def plan(
    tasks: Sequence[Task],
    trials: int,
    config_digest: str,
    seed: int,
    told: Told = "asked",
    *,
    shard: Shard | None = None,
) -> Iterator[Cell]:
    """Yield the cells of a run: every task once, then every task again; `told` and `shard` are the configuration's."""
    for trial in range(trials):
        for task in tasks:
            if in_shard(shard, task.id, task.hash, trial):
                yield Cell(
                    task=task,
                    trial=trial,
                    key=cell_key(task.id, task.hash, trial, config_digest),
                    seed=cell_seed(seed, task.id, task.hash, trial),
                    request=opening(task, told),
                )


class Runner(Struct, frozen=True, kw_only=True):
    """The participants of a run, and its limits."""

    agent: Agent | StatefulAgent
    human: HumanSimulator
    scorers: Mapping[str, Scorer]
    max_turns: int
    concurrency: int
    dialogue_timeout: float
    scoring_slots: int
    record_tokens: bool = False
    broken_after: int | None = None
    """Dialogues that all ended by an exception of the agent's own, before the run stops; None: it goes on."""

    async def run(
        self, cells: Iterable[Cell], earlier: Mapping[str, Rollout], done: Callable[[Rollout], None]
    ) -> None:
        """Run and score every cell; `done` is called with each rollout as it is finished.

        `earlier` holds, by key, unsettled rollouts of an earlier attempt: where only the scoring failed,
        the dialogue is kept. Raises EndpointError when a model server is gone, UserError when it refuses us, AgentError
        when the first `broken_after` dialogues all fail by an exception of the agent's own.
        """
        work = _Workers(self, earlier, done)
        try:
            with watched_loop():
                async with asyncio.TaskGroup() as group:
                    queue = iter(cells)
                    for _ in range(self.concurrency):
                        work.speaking.append(group.create_task(work.run_cells(queue, group)))
        except ExceptionGroup as errors:
            raise _first(errors) from None
        if work.stopped:
            raise work.stopped

    async def run_dialogue(self, cell: Cell) -> Rollout:
        """Return the dialogue of a cell, unscored. An error becomes its failure, but a UserError is raised."""
        started, start, turns = now(), time.perf_counter(), list[Turn]()
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
        """Return the rollout with its verdicts; where the agent failed, with those of a failure."""
        if rollout.answer is None:
            return with_asking(task, replace(rollout, scores=_scores_of_failure(rollout)))
        return await score_rollout(self.scorers[task.domain], task, rollout, rollout.answer)


class _Workers:
    def __init__(
        self, runner: Runner, earlier: Mapping[str, Rollout], done: Callable[[Rollout], None]
    ) -> None:
        self.runner = runner
        self.earlier = earlier
        self.done = done
        self.slots = asyncio.Semaphore(runner.scoring_slots * SCORING_BACKLOG)
        self.unanswered = 0
        self.speaking: list[asyncio.Task[None]] = []
        self.stopped: ColBenchError | None = None
        watched = earlier.values() if runner.broken_after else ()
        self.crashed = [rollout for rollout in watched if _crashed(rollout)]
        self.works = any(r.settled and not _crashed(r) for r in watched)
        """True if a dialogue ended otherwise than by an exception of the agent's own."""

    async def run_cells(self, queue: Iterator[Cell], group: asyncio.TaskGroup) -> None:
        """Run dialogues. An error that stops the run is kept in `stopped`: what is finished is scored before."""
        try:
            for cell in queue:
                kept = self.earlier.get(cell.key)
                settled = kept if kept and _only_scoring_failed(kept) else None
                rollout = settled or await self.run_dialogue(cell)
                await self.slots.acquire()
                group.create_task(self.finish(cell, rollout))
        except ColBenchError as error:
            self.stopped = self.stopped or error
            for task in self.speaking:
                task.cancel()

    async def run_dialogue(self, cell: Cell) -> Rollout:
        rollout = await self.runner.run_dialogue(cell)
        self.watch_server(rollout.failure)
        self.works = self.works or (rollout.settled and not _crashed(rollout))
        return rollout

    async def finish(self, cell: Cell, rollout: Rollout) -> None:
        try:
            self.done(await self.runner.score(cell.task, rollout))
        finally:
            self.slots.release()
        self.watch_agent(rollout)

    def watch_agent(self, rollout: Rollout) -> None:
        """Raise AgentError if every dialogue so far failed by an exception of the agent's own."""
        most = self.runner.broken_after
        if not most or self.works:
            return
        if _crashed(rollout):
            self.crashed.append(rollout)
        if len(self.crashed) >= most:
            raise AgentError(broken_agent(self.crashed))

    def watch_server(self, failure: Failure | None) -> None:
        """Raise EndpointError if too many dialogues in a row were lost with a model server."""
        lost = failure is not None and failure.boundary == "endpoint"
        self.unanswered = self.unanswered + 1 if lost else 0
        if failure and self.unanswered >= GIVE_UP_AFTER:
            raise EndpointError(f"{GIVE_UP_AFTER} dialogues in a row were lost; {failure.reason}")


def make_rollout(
    cell: Cell,
    *,
    turns: Sequence[Turn],
    ending: Ending | None,
    failure: Failure | None,
    started: str,
    seconds: float,
) -> Rollout:
    """Return the unscored rollout of a cell; without an ending it ended by `failure`."""
    return Rollout(
        key=cell.key,
        task_id=cell.task.id,
        task_hash=cell.task.hash,
        domain=cell.task.domain,
        trial=cell.trial,
        seed=cell.seed,
        request=cell.request or cell.task.request,
        turns=audit_turns(cell.task, turns),
        answer=ending.answer if ending else None,
        ended_by=ending.ended_by if ending else "failure",
        failure=failure,
        started=started,
        seconds=round(seconds, 3),
    )


async def score_rollout(scorer: Scorer, task: Task, rollout: Rollout, answer: str) -> Rollout:
    """Return the rollout with the verdicts on its answer and its asking and, where the scorer has any, on its turns.

    A failure of the scorer becomes the rollout's failure.
    """
    try:
        with boundary(ScorerError):
            scores = await scorer.score(task, answer)
            turns = rollout.turns
            if isinstance(scorer, ProgressScorer):
                shown = [*(turn.said for turn in turns[:-1]), answer]
                verdicts = [await scorer.score_turn(task, text) for text in shown]
                turns = tuple(map(_with_score, turns, verdicts))
            if isinstance(scorer, ReplyScorer):
                replies = [turn.human for turn in turns]
                found = await scorer.score_replies(task, shown, replies)
                turns = tuple(map(_with_followed, turns, found))
    except InfrastructureError as error:
        return replace(rollout, failure=failure_of(error), scores={})
    return with_asking(task, replace(rollout, failure=None, turns=turns, scores=scores))


def _with_score(turn: Turn, score: Score | None) -> Turn:
    return replace(turn, score=score)


def _with_followed(turn: Turn, followed: Followed | None) -> Turn:
    return replace(turn, followed=followed)


def _crashed(rollout: Rollout) -> bool:
    return rollout.failure is not None and is_own_exception(rollout.failure)


def _only_scoring_failed(rollout: Rollout) -> bool:
    failure = rollout.failure
    return (
        rollout.answer is not None
        and failure is not None
        and failure.boundary in SCORING_BOUNDARIES
    )


def _scores_of_failure(rollout: Rollout) -> dict[str, Score]:
    if rollout.failure is None or not rollout.agent_failed:
        return {}
    return get_domain(rollout.domain).lost(f"the agent failed: {rollout.failure.reason}")


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = errors.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
