"""From seed texts to tasks, many at a time: write, read, examine, guess; then, in the order of the texts, decide.

Outcomes are written in that order because which of two like tasks is the near-duplicate depends on it; so a run that
was killed and resumed writes the same files as one that was not. A killed process loses no more than `BACKLOG` texts
for each that is worked on.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from colbench.errors import EndpointError, InfrastructureError
from colbench.interfaces import RejectedError, TaskIndex
from colbench.messages import Usage, clean
from colbench.models.openai_chat import RequestRefusedError
from colbench.sandbox import CodeSandbox
from colbench.synthesis.author import Author
from colbench.synthesis.examine import examine
from colbench.synthesis.guess import Guesser
from colbench.synthesis.records import Origin, Outcome
from colbench.synthesis.seeds import Seed

BACKLOG = 2
GIVE_UP_AFTER = 20
"""Texts in a row that came to nothing because something failed, before the run stops."""


class Pipeline(Struct, frozen=True, kw_only=True):
    """Who takes part, and how many texts at once."""

    author: Author
    box: CodeSandbox
    guesser: Guesser | None
    known: TaskIndex
    """What new tasks must not be like; each new task is added."""
    concurrency: int

    async def run(self, seeds: Sequence[Seed], done: Callable[[Outcome], None]) -> list[str]:
        """Call `done` with the outcome of each text in order; give why the others are still owed.

        Raises EndpointError when nothing answers any more, UserError when a server refuses us or the guesser fails.
        """
        try:
            async with asyncio.TaskGroup() as group:
                return await self._in_order(seeds, done, group)
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None

    async def _in_order(
        self, seeds: Sequence[Seed], done: Callable[[Outcome], None], group: asyncio.TaskGroup
    ) -> list[str]:
        slots = asyncio.Semaphore(self.concurrency)
        begun: deque[asyncio.Task[Outcome | InfrastructureError]] = deque()
        owed = _Owed()
        for seed in seeds:
            begun.append(group.create_task(self._work_off(seed, slots)))
            if len(begun) == self.concurrency * BACKLOG:
                self._settle(await begun.popleft(), done, owed)
        while begun:
            self._settle(await begun.popleft(), done, owed)
        return owed.reasons

    async def _work_off(
        self, seed: Seed, slots: asyncio.Semaphore
    ) -> Outcome | InfrastructureError:
        async with slots:
            try:
                return await self._outcome(seed)
            except InfrastructureError as error:
                return error

    async def _outcome(self, seed: Seed) -> Outcome:
        origin = Origin(
            key=seed.key,
            model=self.author.model,
            prompt=self.author.recipe.fingerprint,
            guess=str(self.guesser or ""),
        )
        try:
            reply = await self.author.write(seed)
        except RequestRefusedError as error:
            origin = replace(origin, usage=Usage())
            return Outcome(synthesis=origin, reason="refused", detail=clean(str(error)))
        outcome = Outcome(synthesis=replace(origin, usage=reply.usage), reply=clean(reply.content))
        return await self._examined(outcome)

    async def _examined(self, outcome: Outcome) -> Outcome:
        try:
            task = self.author.recipe.read(outcome.reply)
            await examine(task, self.box)
        except RejectedError as error:
            return replace(outcome, reason=error.reason, detail=clean(error.detail))
        outcome = replace(outcome, task=task)
        if self.guesser is None:
            return outcome
        solved, spent = await self.guesser.solves(task, outcome.synthesis.key, self.box)
        outcome = replace(outcome, synthesis=replace(outcome.synthesis, guesses=spent))
        return (
            replace(outcome, reason="guessed", detail=f"by guess {len(spent)}")
            if solved
            else outcome
        )

    def _settle(
        self,
        outcome: Outcome | InfrastructureError,
        done: Callable[[Outcome], None],
        owed: _Owed,
    ) -> None:
        if isinstance(outcome, InfrastructureError):
            owed.add(outcome)
            return
        owed.in_a_row = 0
        like = self.known.like(outcome.task) if outcome.task else ""
        if like:
            outcome = replace(outcome, reason="near_duplicate", detail=like)
        elif outcome.task and outcome.reason is None:
            self.known.add(outcome.task)
        done(outcome)


class _Owed:
    def __init__(self) -> None:
        self.reasons: list[str] = []
        self.in_a_row = 0

    def add(self, error: InfrastructureError) -> None:
        self.reasons.append(f"{error.boundary}: {error}")
        self.in_a_row += 1
        if self.in_a_row == GIVE_UP_AFTER:
            raise EndpointError(f"{GIVE_UP_AFTER} texts in a row were lost; {error}")
