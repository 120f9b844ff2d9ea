"""One running agent program that speaks `colbench-agent/1` on standard input and output.

Whatever it does, nobody waits for ever: what it breaks is an AgentError with the reason, for whoever waits for it,
and then it is stopped with everything that it started, as it is when this process dies (`colbench_agents.watchdog`).
"""

from __future__ import annotations

import asyncio
import codecs
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from colbench.errors import AgentError, EndpointError
from colbench.messages import Message
from colbench_agents.protocol import (
    MAX_LINE,
    SHOWN,
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

WATCHDOG = Path(__file__).with_name("watchdog.py")
EXIT_GRACE = 2.0
"""Seconds to end by itself once standard input is closed; as many again after SIGTERM; then all is killed."""
LAST_WAIT = 10.0
"""Seconds after which even the watchdog is given up."""
LAST_WORDS = 3
"""Lines of standard error that a failure's reason quotes."""
LONGEST_WORD = 2000
"""Characters of one line of standard error that are kept."""
CHUNK = 65536


class AgentProcess:
    """A program, running between `start` and `stop`; `heard` is called with each line of its standard error."""

    def __init__(self, command: Sequence[str], heard: Callable[[str], None]) -> None:
        self.failure: AgentError | None = None
        """Why it is of no use any more."""
        self._command = command
        self._heard = heard
        self._due: dict[str, asyncio.Future[Reply | Error]] = {}
        self._over: set[str] = set()
        self._last_words: deque[str] = deque(maxlen=LAST_WORDS)
        self._lifeline: int | None = None

    async def start(self, timeout: float) -> Ready:  # noqa: ASYNC109 - the reason names it
        """Start it, and wait so many seconds at most until it is ready.

        Raises AgentError when it is not, EndpointError when this machine can start nothing more.
        """
        self._ready: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
        try:
            self._process = await self._spawn()
        except OSError as cause:
            raise EndpointError(
                f"the agent could not be started: {cause.strerror}; a smaller --concurrency starts fewer at once"
            ) from cause
        self._hearing = asyncio.create_task(self._hear())
        self._reading = asyncio.create_task(self._read())
        try:
            async with asyncio.timeout(timeout):
                return await self._ready
        except TimeoutError as cause:
            await self.stop(at_once=True)
            raise AgentError(f"it was not ready within {timeout:g} s") from cause
        except BaseException:
            await self.stop(at_once=True)
            raise

    async def stop(self, *, at_once: bool = False) -> None:
        """Let it end, or end it, with everything that it started."""
        _input(self._process).close()
        try:
            if not at_once and self.failure is None:
                await self._ended(EXIT_GRACE)
        finally:
            self._cut()
        if not await self._ended(LAST_WAIT):
            self._process.kill()
        await asyncio.wait([self._reading, self._hearing], timeout=LAST_WAIT)

    def begin(self, start: Start) -> None:
        """Tell it that a dialogue begins."""
        self._over.discard(start.episode.id)
        self._write(start)

    def end(self, episode: str) -> None:
        """Tell it that a dialogue is over; what it still says about it is not listened to."""
        self._over.add(episode)
        self._write(End(episode=episode))

    async def ask(self, episode: str, dialogue: Sequence[Message]) -> Reply | Error:
        """What it says next. Raises AgentError when it breaks down or breaks the protocol."""
        if self.failure:
            raise AgentError(str(self.failure))
        due: asyncio.Future[Reply | Error] = asyncio.get_running_loop().create_future()
        self._due[episode] = due
        try:
            self._write(messages(episode, dialogue))
            await self._taken()
            return await due
        finally:
            self._due.pop(episode, None)

    async def _spawn(self) -> asyncio.subprocess.Process:
        lifeline, self._lifeline = os.pipe()
        try:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(WATCHDOG)),
                *(f"--lifeline={lifeline}", f"--grace={EXIT_GRACE}"),
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=MAX_LINE,
                pass_fds=(lifeline,),
                start_new_session=True,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        except BaseException:
            self._cut()
            raise
        finally:
            os.close(lifeline)

    def _cut(self) -> None:
        """Close the lifeline: the watchdog ends everything."""
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None

    async def _ended(self, within: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._process.wait()
                return True
        return False

    def _write(self, message: ToAgent) -> None:
        if not _input(self._process).is_closing():
            _input(self._process).write(encode(message))

    async def _taken(self) -> None:
        """Wait until it has taken what was written, or cannot any more; the reason is then told to who waits."""
        try:
            await _input(self._process).drain()
        except OSError:
            await asyncio.wait([self._reading], timeout=1.0)
            self._fail(AgentError("it closed its standard input"))

    async def _read(self) -> None:
        try:
            self._ready.set_result(read_ready(await self._line()))
            while True:
                self._take(read_answer(await self._line()))
        except AgentError as failure:
            self._fail(failure)
        while await _output(self._process).read(CHUNK):
            """It may end only when everything is read."""

    def _take(self, answer: Reply | Error) -> None:
        due = self._due.pop(answer.episode, None)
        if due is None and answer.episode not in self._over:
            asked = ", ".join(self._due) or "nothing"
            raise AgentError(f"it replied to {answer.episode!r}, where {asked} was asked")
        if due and not due.done():
            due.set_result(answer)

    def _fail(self, failure: AgentError) -> None:
        self.failure = self.failure or failure
        self._cut()
        waiting: list[asyncio.Future[Ready] | asyncio.Future[Reply | Error]]
        waiting = [self._ready, *self._due.values()]
        for future in waiting:
            if not future.done():
                future.set_exception(AgentError(str(self.failure)))

    async def _line(self) -> bytes:
        try:
            return await _output(self._process).readuntil(b"\n")
        except asyncio.LimitOverrunError as cause:
            raise AgentError(f"it sent a line of more than {MAX_LINE} bytes") from cause
        except asyncio.IncompleteReadError as cause:
            raise AgentError(await self._obituary(cause.partial)) from cause

    async def _obituary(self, rest: bytes) -> str:
        """How it ended, `rest` being the line in which it stopped."""
        how = "it closed its standard output"
        if await self._ended(1.0):
            code = self._process.returncode or 0
            how = f"it ended with code {code}" if code <= 128 else f"signal {code - 128} ended it"
            await asyncio.wait([self._hearing], timeout=1.0)
        if rest:
            how += f" in the middle of a line: {rest[:SHOWN].decode('utf-8', 'replace')}"
        said = " | ".join(self._last_words)
        return f"{how}; its last words: {said}" if said else how

    async def _hear(self) -> None:
        errors = self._process.stderr
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        rest = ""
        while errors and (chunk := await errors.read(CHUNK)):
            *lines, rest = (rest + decoder.decode(chunk)).split("\n")
            rest = rest[:LONGEST_WORD]
            for line in lines:
                self._hear_line(line)
        if rest:
            self._hear_line(rest)

    def _hear_line(self, line: str) -> None:
        line = line.rstrip()[:LONGEST_WORD]
        if line:
            self._last_words.append(line[:SHOWN])
        self._heard(line)


def _input(process: asyncio.subprocess.Process) -> asyncio.StreamWriter:
    if process.stdin is None:
        raise RuntimeError("it was started with a pipe")
    return process.stdin


def _output(process: asyncio.subprocess.Process) -> asyncio.StreamReader:
    if process.stdout is None:
        raise RuntimeError("it was started with a pipe")
    return process.stdout
