"""One running agent program that speaks `colbench-agent/1` on standard input and output.

If a program breaks the protocol, every caller that waits for it gets an AgentError with the reason. The program is then
stopped, together with everything that it started. If this process dies, the watchdog stops them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from msgspec import Struct

from colbench.agent_process.program import EXIT_GRACE, LAST_WAIT, Program
from colbench.agent_process.protocol import (
    SAYS,
    End,
    Enter,
    Entered,
    Error,
    Learned,
    Messages,
    Ready,
    Reply,
    Spared,
    Start,
    ToAgent,
    Waiting,
    as_error,
    decode,
    encode,
    read_ready,
)
from colbench.clock import RUNNING, Clock
from colbench.errors import AgentError
from colbench.models.servers import Wait, current_servers


class AgentProcess(Program):
    """An agent's program, which runs between `start` and `stop`.

    An error that the program sends instead of `ready` is raised with the text `quoted` before the error's message.
    `Program` explains the other arguments.
    """

    def __init__(
        self,
        command: Sequence[str],
        heard: Callable[[str], None],
        log: str = "",
        grace: float = EXIT_GRACE,
        quoted: str = SAYS,
    ) -> None:
        super().__init__(command, heard, log, grace)
        self._quoted = quoted
        self.failure: AgentError | None = None
        """The reason why the program cannot be used anymore; None if it can be used."""
        self.learned: tuple[str, ...] = ()
        """Properties of the agent's model and its server that the program has reported."""
        self.last_error = ""
        """The last error that the program sent while it was being stopped."""
        self._due: dict[str, _Due] = {}
        self._over: set[str] = set()
        self._entering: asyncio.Future[None] | None = None
        self._ending = False

    async def start(self, timeout: float) -> Ready:  # noqa: ASYNC109 - the error quotes it
        """Start the program, and wait at most `timeout` seconds until it is ready.

        Raises AgentError if the program ends, breaks the protocol or is not ready in time, UserError if it reports a
        mistake of the user, and EndpointError if it asks to be started again later or if this machine cannot start
        another process.
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

    async def enter(self) -> None:
        """Ask the host to open its agent, and wait until the agent is open.

        Raises UserError or EndpointError if the agent cannot be opened, AgentError if the host ends.
        """
        if self.failure:
            raise self._failed()
        self._entering = asyncio.get_running_loop().create_future()
        self._tell(Enter())
        await self._entering

    async def stop(self, *, at_once: bool = False) -> None:
        """Stop the program and everything that it started. Without `at_once`, the program first gets time to exit."""
        self._ending = True
        await super().stop(at_once=at_once or self.failure is not None)
        await asyncio.wait([self._reading], timeout=LAST_WAIT)
        current_servers().waits_elsewhere.pop(self, None)

    def begin(self, start: Start) -> None:
        """Tell the program that a dialogue begins."""
        self._over.discard(start.episode.id)
        self._tell(start)

    def end(self, episode: str) -> None:
        """Tell the program that a dialogue is over; later messages about this dialogue are ignored."""
        self._over.add(episode)
        self._tell(End(episode=episode))

    async def ask(self, request: Messages) -> Reply | Error:
        """Request the agent's next message, and return the agent's answer.

        Raises AgentError if the program ends or breaks the protocol. An `Error` from the agent is returned, not raised.
        """
        if self.failure:
            raise self._failed()
        due = _Due(answer=asyncio.get_running_loop().create_future(), clock=RUNNING.get())
        self._due[request.episode] = due
        try:
            self._tell(request)
            await self._taken()
            return await due.answer
        finally:
            self._due.pop(request.episode, None)

    def fail(self, failure: AgentError) -> None:
        """Stop the program, and raise its first failure in every caller that waits for the program."""
        self.failure = self.failure or failure
        self.cut()
        answers = [due.answer for due in self._due.values()]
        for future in (self._ready, self._entering, *answers):
            if future and not future.done():
                future.set_exception(self._failed())

    def _failed(self) -> AgentError:
        return AgentError(str(self.failure), kind=self.failure.kind if self.failure else "")

    def _tell(self, message: ToAgent) -> None:
        self.write(encode(message))

    async def _taken(self) -> None:
        """Wait while the buffer for the program is full; record a failure if the program has closed its input."""
        try:
            await self.taken()
        except OSError:
            await asyncio.wait([self._reading], timeout=1.0)
            self.fail(AgentError("it closed its standard input"))

    async def _read(self) -> None:
        try:
            await self._read_ready()
            while True:
                self._take(await self.line())
        except AgentError as failure:
            self.fail(failure)
        while await self.rest():
            """The program can end only after all of its output has been read."""

    async def _read_ready(self) -> None:
        line = await self.line()
        try:
            ready = read_ready(line, self._quoted)
        except AgentError:
            raise
        except Exception as mistake:  # UserError or EndpointError
            if not self._ready.done():
                self._ready.set_exception(mistake)
            raise AgentError(str(mistake)) from mistake
        if not self._ready.done():  # it can arrive too late
            self._ready.set_result(ready)

    def _take(self, line: bytes) -> None:
        match decode(line):
            case Reply() | Error() as answer if answer.episode:
                self._answer(answer)
            case Spared(episode=episode, seconds=seconds):
                if due := self._due.get(episode):
                    due.spare(seconds)
            case Learned(sentences=sentences):
                self.learned = sentences
            case Waiting(sentences=sentences):
                current_servers().waits_elsewhere[self] = [Wait(reason=said) for said in sentences]
            case Entered() if self._entering and not self._entering.done():
                self._entering.set_result(None)
            case Error() as error if self._entering and not self._entering.done():
                self._entering.set_exception(as_error(error, ""))
            case Error(message=message) if self._ending:
                self.last_error = message
            case Error(message=message):
                raise AgentError(
                    f"it sent an `error` that names no dialogue: {message}", kind="malformed"
                )
            case other:
                tag = other.__struct_config__.tag
                raise AgentError(f"it sent `{tag}` instead of `reply` or `error`", kind="malformed")

    def _answer(self, answer: Reply | Error) -> None:
        due = self._due.pop(answer.episode, None)
        if due is None and answer.episode not in self._over:
            due_for = " or ".join(map(repr, self._due))
            asked = (
                f"the request was for episode {due_for}" if due_for else "no request was pending"
            )
            raise AgentError(
                f"its reply names episode {answer.episode!r}, but {asked}", kind="malformed"
            )
        if due and not due.answer.done():
            due.answer.set_result(answer)


class _Due(Struct, frozen=True, kw_only=True):
    """A pending reply."""

    answer: asyncio.Future[Reply | Error]
    clock: Clock | None
    """The clock that measures the agent's time."""

    def spare(self, seconds: float) -> None:
        if self.clock:
            self.clock.spare(seconds)
