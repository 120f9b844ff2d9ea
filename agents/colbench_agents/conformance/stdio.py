"""The protocol rules for an agent over standard input and output. One dialogue checks several rules."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress

from colbench.agent_process.program import EXIT_GRACE, LAST_WAIT, Program
from colbench.agent_process.protocol import SHOWN, End, Ready, encode, read_ready
from colbench.errors import AgentError
from colbench.interfaces import Rule
from colbench_agents.conformance.script import (
    LONG,
    NAMES,
    NOT_CONCURRENT,
    NOT_LONG,
    READY,
    REPLIES,
    SAME,
    SEVERAL,
    STRANGE,
    UNKNOWN,
    Findings,
    Scripted,
    named,
    padding,
    reply,
    same,
)

UNASKED = "Sends nothing before it is asked"
ONCE = "Replies once to one request"
OVER = "Sends nothing after a dialogue ends"
ENDS = "Ends when its standard input is closed"
QUIET = 0.5
"""Seconds to listen when no output is expected."""
LINES = 100
"""Maximum number of lines to keep from a program that does not stop writing."""
STANDARD_ERROR = "Write only messages to standard output, and everything else to standard error."


class StdioRules:
    """The protocol rules for an agent's command, and their checks.

    `heard` is called with each line of the program's standard error. `startup` is the time limit of the message
    `ready`, and `patience` is the time limit of a reply, both in seconds.
    """

    def __init__(
        self,
        command: Sequence[str],
        heard: Callable[[str], None],
        *,
        startup: float,
        patience: float,
    ) -> None:
        self._command = command
        self._heard = heard
        self._startup = startup
        self._patience = patience
        self._findings = Findings()
        self._ready: Ready | None = None

    def rules(self) -> list[Rule]:
        """Return the rules in the order of checking."""
        talk, anew, long, several = self._talk, self._anew, self._long, self._several
        rule, stdio = self._findings.rule, "`cmd:`"
        ready, replies = (READY,), (READY, REPLIES)
        return [
            rule(READY, talk, where=stdio, replies=1),
            rule(UNASKED, talk, where=stdio, needs=ready, fix=STANDARD_ERROR),
            rule(REPLIES, talk, where="Messages", needs=ready),
            rule(NAMES, talk, where="Messages", needs=replies),
            rule(ONCE, talk, where="Failures", needs=replies, fix=STANDARD_ERROR),
            rule(OVER, talk, where="Messages", needs=ready, fix=STANDARD_ERROR),
            rule(SAME, anew, where="Messages", needs=ready, replies=1),
            rule(UNKNOWN, anew, where="Messages", needs=replies),
            rule(
                ENDS,
                anew,
                where=stdio,
                needs=ready,
                fix="At the end of standard input, leave the loop that reads lines and exit.",
            ),
            rule(LONG, long, where="Limits", needs=replies, replies=1),
            rule(SEVERAL, several, where=stdio, needs=replies, replies=3),
        ]

    async def _talk(self) -> None:
        """Run one dialogue according to the rules."""
        about = self._findings.about
        async with self._running() as wire:
            with about(READY):
                self._ready = await wire.ready(self._startup)
            if self._ready is None:
                return
            scripted = Scripted.of(self._ready)
            with about(UNASKED):
                await wire.silent("before a dialogue")
            wire.write(scripted.start())
            with about(UNASKED):
                await wire.silent("after `start`, which expects no reply")
            wire.write(scripted.ask())
            with about(REPLIES):
                answer = reply(await wire.answer(self._patience))
                with about(NAMES):
                    named(answer, scripted)
            if not self._findings.broken(REPLIES):
                with about(ONCE):
                    await wire.silent("after its reply, without another request")
            wire.write(encode(End(episode=scripted.id)))
            with about(OVER):
                await wire.silent("after `end`, which expects no reply", or_end=True)
            with about(ENDS):
                await wire.end("after `end`")
            with about(OVER):
                await wire.silent("after its standard input was closed", or_end=True)

    async def _anew(self) -> None:
        """Check that a second process sends the same `ready` and ignores unknown fields.

        Check also that the process exits when its standard input is closed in the middle of a dialogue.
        """
        about = self._findings.about
        async with self._running() as wire:
            again = None
            with about(SAME):
                again = await self._begun(wire)
                same(self._known, again)
            scripted = Scripted.of(self._known)
            if again and not self._findings.broken(REPLIES):
                with about(UNKNOWN):
                    wire.write(scripted.start(**STRANGE))
                    wire.write(scripted.ask(**STRANGE))
                    reply(await wire.answer(self._patience))
            with about(ENDS):
                await wire.end("in the middle of a dialogue, as when `colbench` is killed")

    async def _long(self) -> None:
        if self._findings.broken(UNKNOWN):
            self._findings.spare(LONG, NOT_LONG)
            return
        scripted, pad = Scripted.of(self._known), padding(self._known)
        with self._findings.about(LONG):
            async with self._running() as wire:
                await self._begun(wire)
                wire.write(scripted.start())
                wire.write(scripted.ask(unheard=pad))
                try:
                    reply(await wire.answer(self._patience))
                except AgentError as cause:
                    raise AgentError(
                        f"after a request line of {len(pad):,} bytes: {cause}"
                    ) from cause

    async def _several(self) -> None:
        """Run two concurrent dialogues, followed by a third one."""
        if not self._known.concurrent:
            self._findings.spare(SEVERAL, NOT_CONCURRENT)
            return
        first, second, third = (Scripted.of(self._known) for _ in range(3))
        with self._findings.about(SEVERAL):
            async with self._running() as wire:
                await self._begun(wire)
                for line in (first.start(), second.start(), first.ask(), second.ask()):
                    wire.write(line)
                said = [reply(await wire.answer(self._patience)) for _ in range(2)]
                for answer in said:
                    named(answer, first, second)
                if said[0].episode == said[1].episode:
                    raise AgentError(
                        f"with two dialogues open, it replied twice to episode {said[0].episode!r}"
                    )
                for over in (first, second):
                    wire.write(encode(End(episode=over.id)))
                wire.write(third.start() + third.ask())
                try:
                    named(reply(await wire.answer(self._patience)), third)
                except AgentError as cause:
                    raise AgentError(
                        f"in a third dialogue, started after two others had ended: {cause}"
                    ) from cause

    async def _begun(self, wire: Wire) -> Ready:
        """Return the `ready` of a new process. If the program is known to send unsolicited messages, discard them."""
        ready = await wire.ready(self._startup)
        if self._findings.broken(UNASKED):
            with suppress(AgentError):
                await wire.silent("unasked")
        return ready

    @property
    def _known(self) -> Ready:
        if self._ready is None:
            raise AssertionError(f'the check "{READY}" must pass before this one')
        return self._ready

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[Wire]:
        wire = Wire(self._command, self._heard)
        await wire.spawn()
        try:
            yield wire
        finally:
            await wire.stop(at_once=True)


class Wire(Program):
    """A program whose output lines are queued without a check; the caller decides which lines are unexpected."""

    async def spawn(self) -> None:
        """Start the program, and read its output."""
        await super().spawn()
        self._lines: asyncio.Queue[bytes | AgentError] = asyncio.Queue(LINES)
        self._listening = asyncio.create_task(self._listen())

    async def stop(self, *, at_once: bool = False) -> None:
        """Stop the program and all processes that it started.

        Unless `at_once` is set, first give the program time to exit.
        """
        self._listening.cancel()
        await asyncio.wait([self._listening])
        draining = asyncio.create_task(self._drain())
        await super().stop(at_once=at_once)
        await asyncio.wait([draining], timeout=LAST_WAIT)

    async def ready(self, within: float) -> Ready:
        """Return the program's first message.

        Raises AgentError if the message is not a valid `ready` message or comes too late, or if the program ends. For
        an `error` message, raises the failure that the message reports.
        """
        try:
            return read_ready(await self._next(within))
        except TimeoutError as cause:
            raise AgentError(
                f"it was not ready within {within:g} s{await self._held_back()}"
            ) from cause

    async def answer(self, within: float) -> bytes:
        """Return the program's next line.

        Raises AgentError if the line does not come in time, if the program ends, or if it has closed its standard
        input.
        """
        try:
            async with asyncio.timeout(within):
                await self.taken()
                return await self._next(within)
        except TimeoutError as cause:
            held = await self._held_back()
            raise AgentError(f"no reply within {within:g} s (--timeout){held}") from cause
        except OSError as cause:
            raise AgentError("it closed its standard input") from cause

    async def silent(self, when: str, *, or_end: bool = False) -> None:
        """Raise AgentError if the program writes something or ends within `QUIET` seconds.

        `when`: the current moment in words, for the error message, such as "before a dialogue". With `or_end`, the
        program may end without an error.
        """
        lines: list[bytes] = []
        try:
            async with asyncio.timeout(QUIET):
                while True:
                    lines.append(await self._next(QUIET))
        except TimeoutError:
            pass
        except AgentError as end:
            if not (or_end or lines):
                raise AgentError(f"{when}: {end}") from end
        if lines:
            sent = lines[0][:SHOWN].decode("utf-8", "replace").strip()
            raise AgentError(f"{when}, it sent {sent}")

    async def end(self, when: str) -> None:
        """Close the program's standard input. Raises AgentError if the program does not exit by itself.

        `when`: the current moment in words, for the error message, such as "in the middle of a dialogue".
        """
        self.close()
        if not await self.ended(EXIT_GRACE):
            raise AgentError(
                f"it was still running {EXIT_GRACE:g} s after its input was closed {when}"
            )

    async def _held_back(self) -> str:
        """Close the program's standard input. Return a note if this makes the missing message arrive, else ""."""
        self.close()
        with suppress(TimeoutError, AgentError):
            await self._next(EXIT_GRACE)
            return "; its reply arrived only when its input was closed: flush standard output after each message"
        return ""

    async def _next(self, within: float) -> bytes:
        async with asyncio.timeout(within):
            line = await self._lines.get()
        if isinstance(line, AgentError):
            self._lines.put_nowait(line)
            raise line
        return line

    async def _listen(self) -> None:
        try:
            while True:
                await self._lines.put(await self.line())
        except AgentError as end:
            await self._lines.put(end)
            await self._drain()

    async def _drain(self) -> None:
        while await self.rest():
            """Discard the output, because a program can end only after all of its output has been read."""
