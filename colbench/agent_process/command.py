"""An agent that is a program and speaks the protocol line by line.

The program runs once for each dialogue, or once for all dialogues.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from logging.handlers import RotatingFileHandler
from pathlib import Path

from colbench.agent_process.outside import OutsideAgent
from colbench.agent_process.process import AgentProcess
from colbench.agent_process.program import EXIT_GRACE
from colbench.agent_process.protocol import SAYS, Ready, as_message, messages, start
from colbench.clock import seconds_left, waiting
from colbench.interfaces import Agent, Episode
from colbench.messages import Message

LOG = "agent-log/stderr.log"
LOG_BYTES = 10_000_000
"""Maximum size of one file of the log."""
LOG_FILES = 5
"""Maximum number of log files; the oldest file is deleted."""


class CommandAgent(OutsideAgent):
    """An agent started by a command, without a shell and in the folder where the run was started.

    If the program declares itself concurrent, one process serves all dialogues. Otherwise, each dialogue gets its own
    process. A process must be ready within `startup_timeout` seconds.
    """

    descriptors = 5
    """Number of files that a dialogue keeps open: 3 pipes, the watchdog's pipe, and a handle that reports the exit."""
    exit_grace = EXIT_GRACE
    """Seconds to wait until a process ends by itself, and to wait again after SIGTERM."""
    quoted = SAYS
    """Text before the program's own words in an error message."""

    def __init__(self, spec: str, command: Sequence[str], *, startup_timeout: float) -> None:
        self.spec = spec
        self.command = command
        self.startup_timeout = startup_timeout
        self.prefix: Sequence[str] = ()
        """Words put before the agent's command to run it in isolation; empty if the agent is not isolated."""
        self._log: RotatingFileHandler | None = None
        self._shared: AgentProcess | None = None
        self._sharing = asyncio.Lock()

    async def introduce(self) -> Ready:
        """Return the agent's description, from a process that is started only for this request.

        Raises the same errors as `AgentProcess.start`.
        """
        process = self._process("introduction")
        ready = await process.start(self.startup_timeout)
        await process.stop()
        return ready

    def use_log_folder(self, folder: Path) -> None:
        """Write the agent's standard error to `stderr.log` in the folder; `stderr.log.1` and so on hold older parts."""
        folder.mkdir(parents=True, exist_ok=True)
        self._log = _QuietLog(
            folder / "stderr.log",
            maxBytes=LOG_BYTES,
            backupCount=LOG_FILES - 1,
            encoding="utf-8",
            errors="replace",
            delay=True,
        )

    async def __aenter__(self) -> CommandAgent:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._shared:
            await self._shared.stop()
            self._shared = None
        if self._log:
            self._log.close()

    @asynccontextmanager
    async def open(self, episode: Episode) -> AsyncIterator[Agent]:
        """Yield the agent of one dialogue. Raises the same errors as `AgentProcess.start`."""
        concurrent = self.ready.concurrent
        process = await (self.share() if concurrent else self._run(episode.id))
        process.begin(start(episode))
        try:
            yield self.conversation(process, episode.id)
        finally:
            process.end(episode.id)
            if not concurrent:
                await process.stop()

    def conversation(self, process: AgentProcess, episode: str) -> Agent:
        """Return the agent of a dialogue that has already begun in `process`."""
        return Conversation(process, episode, accepts_images=self.accepts_images)

    async def share(self) -> AgentProcess:
        """Return the process that serves all dialogues; start it if it is not running or has failed.

        Raises the same errors as `AgentProcess.start`.
        """
        async with AsyncExitStack() as stack:
            with waiting():
                await stack.enter_async_context(self._sharing)
            if self._shared and self._shared.failure:
                await self._shared.stop()
                self._shared = None
            self._shared = self._shared or await self._run("shared")
            return self._shared

    async def _run(self, whose: str) -> AgentProcess:
        process = self._process(whose, f"{LOG} in the run's folder" if self._log else "")
        await process.start(self.startup_timeout)
        return process

    def _process(self, whose: str, log: str = "") -> AgentProcess:
        command = [*self.prefix, *self.command]
        heard = partial(self.keep, whose)
        return AgentProcess(command, heard, log, self.exit_grace, self.quoted)

    def keep(self, whose: str, line: str) -> None:
        """Write a line of a program's standard error to the log, if there is a log.

        `whose` is written before the line: the ID of the program's dialogue, or `shared`, `introduction` or `check`.
        """
        if self._log:
            self._log.handle(logging.makeLogRecord({"msg": f"{whose} {line}"}))


class Conversation:
    """The agent of one dialogue in a process."""

    def __init__(self, process: AgentProcess, episode: str, *, accepts_images: bool) -> None:
        self.accepts_images = accepts_images
        self._process = process
        self._episode = episode

    async def reply(self, dialogue: Sequence[Message]) -> Message:
        """Return the program's next message. Raises AgentError, EndpointError or UserError if no message comes."""
        return as_message(
            await self._process.ask(messages(self._episode, dialogue, seconds_left()))
        )


class _QuietLog(RotatingFileHandler):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the library's name
        """Ignore errors: a full disk stops the log, not the run."""
