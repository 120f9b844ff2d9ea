"""A program that runs under the watchdog.

It exchanges lines with this process, and is stopped together with everything that it started.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from colbench.agent_process.last_words import LastWords
from colbench.agent_process.protocol import MAX_LINE, SHOWN
from colbench.errors import AgentError, EndpointError

WATCHDOG = Path(__file__).with_name("watchdog.py")
EXIT_GRACE = 2.0
"""Seconds for a process to end after its standard input is closed, and again after SIGTERM; then it is killed."""
LAST_WAIT = 10.0
"""Seconds to wait after the last grace period; then the watchdog itself is killed."""
LONGEST_WORD = 2000
"""Maximum number of characters kept of one line of standard error."""
CHUNK = 65536


class Program:
    """A program that `spawn` starts and `stop` ends.

    `heard` is called with each line of the program's standard error. `log` is the name of the file with these lines.
    Error messages mention `log` unless it is empty. `grace` is the number of seconds to wait until the program ends by
    itself, and to wait again after SIGTERM. Setting `grace` while the program runs changes only the first wait.
    """

    def __init__(
        self,
        command: Sequence[str],
        heard: Callable[[str], None],
        log: str = "",
        grace: float = EXIT_GRACE,
    ) -> None:
        self._command = command
        self._heard = heard
        self._log = log
        self.grace = self._last_grace = grace
        self._last_words = LastWords()
        self._lifeline: int | None = None

    async def spawn(self) -> None:
        """Start the program. Raises EndpointError if this machine cannot start another process."""
        try:
            self._process = await self._spawn()
        except OSError as cause:
            raise EndpointError(
                f"a process of the agent could not be started: {cause.strerror}; lower --concurrency, or raise this "
                "machine's limits",
                kind="overload",
            ) from cause
        self._hearing = asyncio.create_task(self._hear())

    async def stop(self, *, at_once: bool = False) -> None:
        """Stop the program and everything that it started. Without `at_once`, the program first gets time to exit."""
        self.close()
        try:
            if not at_once:
                await self.ended(self.grace)
        finally:
            self.cut()
        if not await self.ended(self._last_grace + LAST_WAIT):
            self._process.kill()
        await asyncio.wait([self._hearing], timeout=LAST_WAIT)

    def write(self, line: bytes) -> None:
        """Write a line to the program, unless its standard input is closed."""
        if not _input(self._process).is_closing():
            _input(self._process).write(line)

    async def taken(self) -> None:
        """Wait while the buffer for the program is full. Raises OSError if the program has closed its input."""
        await _input(self._process).drain()

    def close(self) -> None:
        """Close the program's standard input."""
        _input(self._process).close()

    async def line(self) -> bytes:
        """Read the program's next line. Raises AgentError if the output ends instead, or if the line is too long."""
        try:
            return await _output(self._process).readuntil(b"\n")
        except asyncio.LimitOverrunError as cause:
            raise AgentError(
                f"it sent a line of more than {MAX_LINE} bytes", kind="malformed"
            ) from cause
        except asyncio.IncompleteReadError as cause:
            raise AgentError(await self._obituary(cause.partial)) from cause

    async def rest(self) -> bytes:
        """Return the next chunk of the program's remaining output; empty bytes at the end of the output."""
        return await _output(self._process).read(CHUNK)

    def cut(self) -> None:
        """Close the lifeline, so that the watchdog stops the program and everything that it started."""
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None

    async def ended(self, within: float) -> bool:
        """Wait up to `within` seconds, and return True if the program ends in that time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._process.wait()
                return True
        return False

    async def _spawn(self) -> asyncio.subprocess.Process:
        lifeline, self._lifeline = os.pipe()
        try:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(WATCHDOG)),
                *(f"--lifeline={lifeline}", f"--grace={self._last_grace}"),
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
            self.cut()
            raise
        finally:
            os.close(lifeline)

    async def _obituary(self, rest: bytes) -> str:
        """Describe how the program ended; `rest` is its last, incomplete line."""
        how = "it closed its standard output"
        if await self.ended(1.0):
            code = self._process.returncode or 0
            ended = code - 128 in signal.valid_signals()
            how = f"signal {code - 128} ended it" if ended else f"it ended with code {code}"
            await asyncio.wait([self._hearing], timeout=1.0)
        if rest:
            how += f" in the middle of a line: {rest[:SHOWN].decode('utf-8', 'replace')}"
        if said := str(self._last_words):
            how += f"; end of its standard error: {said}"
        return f"{how}; full log: {self._log}" if said and self._log else how

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
        self._last_words.hear(line[:SHOWN])
        self._heard(line)


def _input(process: asyncio.subprocess.Process) -> asyncio.StreamWriter:
    if process.stdin is None:
        raise RuntimeError("the program was started without a pipe for standard input")
    return process.stdin


def _output(process: asyncio.subprocess.Process) -> asyncio.StreamReader:
    if process.stdout is None:
        raise RuntimeError("the program was started without a pipe for standard output")
    return process.stdout
