"""The pipeline from seed texts to tasks, many texts at a time: a task is written, parsed, vetted and guessed at.

Outcomes are recorded in the order of the texts. If two tasks are similar, the later one is therefore the near-duplicate
that is rejected. If the models give the same replies and no text fails, a resumed run writes the same files as an
uninterrupted run. A killed process loses the work on at most `BACKLOG * concurrency` texts.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from colbench.domain import Domain, Resources
from colbench.errors import EndpointError, InfrastructureError, TooLongError
from colbench.interfaces import RejectedError, TaskIndex
from colbench.messages import Usage, clean
from colbench.synthesis.author import Author
from colbench.synthesis.guess import Guesser
from colbench.synthesis.records import Origin, Outcome
from colbench.synthesis.seeds import Seed

BACKLOG = 2
"""Maximum number of started texts whose outcome is not recorded yet, as a multiple of `concurrency`."""
GIVE_UP_AFTER = 20
"""Number of consecutive failures after which the run stops, for example because a server does not answer."""


class Pipeline(Struct, frozen=True, kw_only=True):
    """The components that create tasks, and the number of texts they process concurrently."""

    author: Author
    domain: Domain
    resources: Resources
    """The domain's resources, already started."""
    guesser: Guesser | None
    known: TaskIndex
    """The tasks that no new task may resemble; each new task is added to them."""
    concurrency: int

    async def run(self, seeds: Sequence[Seed], done: Callable[[Outcome], None]) -> list[str]:
        """Call `done` with the outcome of each text, in order. Return the reasons why texts failed without an outcome.

        A text without an outcome can be tried again. Raises EndpointError if `GIVE_UP_AFTER` texts in a row fail,
        UserError if a server refuses the requests or the guesser fails.
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
        started: deque[asyncio.Task[Outcome | InfrastructureError]] = deque()
        pending = _Pending()
        for seed in seeds:
            started.append(group.create_task(self._process(seed, slots)))
            if len(started) == self.concurrency * BACKLOG:
                self._settle(await started.popleft(), done, pending)
        while started:
            self._settle(await started.popleft(), done, pending)
        return pending.reasons

    async def _process(self, seed: Seed, slots: asyncio.Semaphore) -> Outcome | InfrastructureError:
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
        except TooLongError as error:
            origin = replace(origin, usage=Usage())
            return Outcome(synthesis=origin, reason="refused", detail=clean(str(error)))
        outcome = Outcome(synthesis=replace(origin, usage=reply.usage), reply=clean(reply.content))
        return await self._vetted(outcome)

    async def _vetted(self, outcome: Outcome) -> Outcome:
        try:
            task = self.author.recipe.read(outcome.reply)
            await self.domain.vet(task, self.resources)
        except RejectedError as error:
            return replace(outcome, reason=error.reason, detail=clean(error.detail))
        outcome = replace(outcome, task=task)
        if self.guesser is None:
            return outcome
        scorer = self.domain.scorer(self.resources)
        solved, spent = await self.guesser.solves(task, outcome.synthesis.key, scorer)
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
        pending: _Pending,
    ) -> None:
        if isinstance(outcome, InfrastructureError):
            pending.add(outcome)
            return
        pending.in_a_row = 0
        like = self.known.like(outcome.task) if outcome.task else ""
        if like:
            outcome = replace(outcome, reason="near_duplicate", detail=like)
        elif outcome.task and outcome.reason is None:
            self.known.add(outcome.task)
        done(outcome)


class _Pending:
    def __init__(self) -> None:
        self.reasons: list[str] = []
        self.in_a_row = 0

    def add(self, error: InfrastructureError) -> None:
        self.reasons.append(f"{error.boundary}: {error}")
        self.in_a_row += 1
        if self.in_a_row == GIVE_UP_AFTER:
            raise EndpointError(
                f"{GIVE_UP_AFTER} seed texts in a row failed, the last one with {self.reasons[-1]}"
            )
