"""The agent behind `cmd:COMMAND`: a program in any language that speaks JSON lines (docs/agent-protocol.md)."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import shlex
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from logging.handlers import RotatingFileHandler
from pathlib import Path

from colbench.clock import waiting
from colbench.errors import UserError
from colbench.interfaces import Agent, Episode, Rule
from colbench.messages import Message
from colbench_agents.outside import OutsideAgent
from colbench_agents.protocol import Ready, as_message, start
from colbench_agents.stdio_process import AgentProcess

LOG = "agent-log/stderr.log"
LOG_BYTES = 10_000_000
"""Of one file of the log."""
LOG_FILES = 5
"""Files that are kept, the newest."""


class StdioAgent(OutsideAgent):
    """`cmd:COMMAND`: split as a shell would, but run without one, in the folder where the run was started.

    It gets a process for each dialogue, or where it says that it is concurrent, one for all. `startup_timeout` is the
    seconds in which a process has to be ready. Raises UserError when there is no such program.
    """

    descriptors = 5
    """Open files of one dialogue: its pipes, the lifeline, what watches its end."""

    def __init__(self, command: str, *, startup_timeout: float = 60.0) -> None:
        self.spec = f"cmd:{command}"
        self.command = _words(self.spec, command)
        self.startup_timeout = startup_timeout
        self.prefix: Sequence[str] = ()
        """The words of a command that runs the command after it, walled in."""
        self._log: RotatingFileHandler | None = None
        self._shared: AgentProcess | None = None
        self._sharing = asyncio.Lock()

    async def introduce(self) -> Ready:
        """Start it once, for this alone."""
        process = AgentProcess([*self.prefix, *self.command], partial(self._keep, "introduction"))
        ready = await process.start(self.startup_timeout)
        await process.stop()
        return ready

    def describe(self) -> dict[str, str]:
        """What pins the run: its own name and version, and the hash of every file on its command line."""
        files = [Path(word) for word in self.command if Path(word).is_file()]
        hashes = (hashlib.sha256(file.read_bytes()).hexdigest() for file in files)
        return {
            **super().describe(),
            "command": shlex.join(self.command),
            "files": ",".join(f"sha256:{each}" for each in hashes),
        }

    def use_log_folder(self, folder: Path) -> None:
        """Keep what it says on standard error in `stderr.log` there, and older parts in `stderr.log.1` and so on."""
        folder.mkdir(parents=True, exist_ok=True)
        self._log = _QuietLog(
            folder / "stderr.log",
            maxBytes=LOG_BYTES,
            backupCount=LOG_FILES - 1,
            encoding="utf-8",
            errors="replace",
            delay=True,
        )

    def conformance_rules(self, patience: float) -> Sequence[Rule]:
        """The rules of the protocol."""
        from colbench_agents.conformance.stdio import StdioRules

        return StdioRules(
            [*self.prefix, *self.command],
            partial(self._keep, "check"),
            startup=self.startup_timeout,
            patience=patience,
        ).rules()

    async def __aenter__(self) -> StdioAgent:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._shared:
            await self._shared.stop()
            self._shared = None
        if self._log:
            self._log.close()

    @asynccontextmanager
    async def open(self, episode: Episode) -> AsyncIterator[Agent]:
        """The agent of one dialogue."""
        concurrent = self.ready.concurrent
        process = await (self._share() if concurrent else self._run(episode.id))
        process.begin(start(episode))
        try:
            yield _Conversation(process, episode.id, accepts_images=self.accepts_images)
        finally:
            process.end(episode.id)
            if not concurrent:
                await process.stop()

    async def _run(self, whose: str) -> AgentProcess:
        log = f"{LOG} in the run's folder" if self._log else ""
        process = AgentProcess([*self.prefix, *self.command], partial(self._keep, whose), log)
        await process.start(self.startup_timeout)
        return process

    async def _share(self) -> AgentProcess:
        """The process of all dialogues; a new one where the last one failed."""
        async with AsyncExitStack() as stack:
            with waiting():
                await stack.enter_async_context(self._sharing)
            if self._shared and self._shared.failure:
                await self._shared.stop()
                self._shared = None
            self._shared = self._shared or await self._run("shared")
            return self._shared

    def _keep(self, whose: str, line: str) -> None:
        if self._log:
            self._log.handle(logging.makeLogRecord({"msg": f"{whose} {line}"}))


class _Conversation:
    def __init__(self, process: AgentProcess, episode: str, *, accepts_images: bool) -> None:
        self.accepts_images = accepts_images
        self._process = process
        self._episode = episode

    async def reply(self, dialogue: Sequence[Message]) -> Message:
        return as_message(await self._process.ask(self._episode, dialogue))


class _QuietLog(RotatingFileHandler):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the library's name
        """A full disk stops the log, not the run."""


def _words(spec: str, command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as cause:
        raise UserError(f"--agent {spec}: cannot be split into words: {cause}") from cause
    if not words:
        raise UserError(f"--agent {spec}: names no program; write cmd:./my_agent --flag")
    if shutil.which(words[0]):
        return words
    if Path(words[0]).is_file():
        raise UserError(f"--agent {spec}: {words[0]} is not executable; chmod +x {words[0]}")
    raise UserError(f"--agent {spec}: there is no program {words[0]}")
