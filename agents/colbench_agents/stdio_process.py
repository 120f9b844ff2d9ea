"""One running agent program that speaks `colbench-agent/1` on standard input and output.

Whatever it does, nobody waits for ever: what it breaks is an AgentError with the reason, for whoever waits for it,
and then it is stopped with everything that it started, as it is when this process dies (`colbench_agents.watchdog`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from colbench.errors import AgentError
from colbench.messages import Message
from colbench_agents.program import LAST_WAIT, Program
from colbench_agents.protocol import (
    End,
    Error,
    Ready,
    Reply,
    Start,
    ToAgent,
    encode,
    messages,
    read_answer,
    read_ready,
)


class AgentProcess(Program):
    """A program, running between `start` and `stop`; `heard` and `log` as for any program."""

    def __init__(self, command: Sequence[str], heard: Callable[[str], None], log: str = "") -> None:
        super().__init__(command, heard, log)
        self.failure: AgentError | None = None
        """Why it is of no use any more."""
        self._due: dict[str, asyncio.Future[Reply | Error]] = {}
        self._over: set[str] = set()

    async def start(self, timeout: float) -> Ready:  # noqa: ASYNC109 - the reason names it
        """Start it, and wait so many seconds at most until it is ready.

        Raises AgentError when it is not, EndpointError when this machine can start nothing more.
        """
        self._ready: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
        await self.spawn()
        self._reading = asyncio.create_task(self._read())
        try:
            async with asyncio.timeout(timeout):
                return await self._ready
        except TimeoutError as cause:
            await self.stop(at_once=True)
            raise AgentError(f"it was not ready within {timeout:g} s", kind="timeout") from cause
        except BaseException:
            await self.stop(at_once=True)
            raise

    async def stop(self, *, at_once: bool = False) -> None:
        """Let it end, or end it, with everything that it started."""
        await super().stop(at_once=at_once or self.failure is not None)
        await asyncio.wait([self._reading], timeout=LAST_WAIT)

    def begin(self, start: Start) -> None:
        """Tell it that a dialogue begins."""
        self._over.discard(start.episode.id)
        self._tell(start)

    def end(self, episode: str) -> None:
        """Tell it that a dialogue is over; what it still says about it is not listened to."""
        self._over.add(episode)
        self._tell(End(episode=episode))

    async def ask(self, episode: str, dialogue: Sequence[Message]) -> Reply | Error:
        """What it says next. Raises AgentError when it breaks down or breaks the protocol."""
        if self.failure:
            raise AgentError(str(self.failure), kind=self.failure.kind)
        due: asyncio.Future[Reply | Error] = asyncio.get_running_loop().create_future()
        self._due[episode] = due
        try:
            self._tell(messages(episode, dialogue))
            await self._taken()
            return await due
        finally:
            self._due.pop(episode, None)

    def _tell(self, message: ToAgent) -> None:
        self.write(encode(message))

    async def _taken(self) -> None:
        """Wait until it has taken what was written, or cannot any more; the reason is then told to who waits."""
        try:
            await self.taken()
        except OSError:
            await asyncio.wait([self._reading], timeout=1.0)
            self._fail(AgentError("it closed its standard input"))

    async def _read(self) -> None:
        try:
            ready = read_ready(await self.line())
            if not self._ready.done():  # it may come too late
                self._ready.set_result(ready)
            while True:
                self._take(read_answer(await self.line()))
        except AgentError as failure:
            self._fail(failure)
        while await self.rest():
            """It may end only when everything is read."""

    def _take(self, answer: Reply | Error) -> None:
        due = self._due.pop(answer.episode, None)
        if due is None and answer.episode not in self._over:
            asked = ", ".join(self._due) or "nothing"
            raise AgentError(
                f"it replied to {answer.episode!r}, where {asked} was asked", kind="malformed"
            )
        if due and not due.done():
            due.set_result(answer)

    def _fail(self, failure: AgentError) -> None:
        self.failure = self.failure or failure
        self.cut()
        waiting: list[asyncio.Future[Ready] | asyncio.Future[Reply | Error]]
        waiting = [self._ready, *self._due.values()]
        for future in waiting:
            if not future.done():
                future.set_exception(AgentError(str(self.failure), kind=self.failure.kind))
