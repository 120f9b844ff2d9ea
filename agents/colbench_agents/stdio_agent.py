"""The agent behind `cmd:COMMAND`: a program in any language that speaks JSON lines (docs/agent-protocol.md)."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import shlex
import shutil
from collections.abc import AsyncIterator, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import cached_property, partial
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, TypeVar

from colbench.errors import AgentError, EndpointError, UserError
from colbench.interfaces import Agent, Episode
from colbench.messages import Message
from colbench.task import Domain
from colbench_agents.protocol import Ready, as_message, start
from colbench_agents.stdio_process import AgentProcess

T = TypeVar("T")
LOG_BYTES = 10_000_000
"""Of one file of the log."""
LOG_FILES = 5
"""Files that are kept, the newest."""


class StdioAgent:
    """`cmd:COMMAND`: split as a shell would, but run without one, in the folder where the run was started.

    It gets a process for each dialogue, or where it says that it is concurrent, one for all. `startup_timeout` is the
    seconds in which a process has to be ready. Raises UserError when there is no such program.
    """

    def __init__(self, command: str, *, startup_timeout: float = 60.0) -> None:
        self.spec = f"--agent cmd:{command}"
        self.command = _words(self.spec, command)
        self.startup_timeout = startup_timeout
        self.prefix: Sequence[str] = ()
        """The words of a command that runs the command after it, walled in."""
        self._log: RotatingFileHandler | None = None
        self._shared: AgentProcess | None = None
        self._sharing = asyncio.Lock()

    @cached_property
    def ready(self) -> Ready:
        """What it says of itself; holds for the whole run. Starts it once. Raises UserError when it says nothing."""
        try:
            return blocking(self._introduce())
        except (AgentError, EndpointError) as cause:
            raise UserError(f"{self.spec}: {cause}; see docs/agent-protocol.md") from cause

    @property
    def accepts_images(self) -> bool:
        """Whether it wants to be shown pictures of its pages."""
        return self.ready.accepts_images

    @property
    def domains(self) -> tuple[Domain, ...] | None:
        """What it is for; None: everything."""
        return self.ready.domains

    def describe(self) -> dict[str, str]:
        """What pins the run: its own name and version, and the hash of every file on its command line."""
        files = [Path(word) for word in self.command if Path(word).is_file()]
        hashes = (hashlib.sha256(file.read_bytes()).hexdigest() for file in files)
        return {
            **said_of_itself(self.ready),
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
        process = AgentProcess([*self.prefix, *self.command], partial(self._keep, whose))
        await process.start(self.startup_timeout)
        return process

    async def _share(self) -> AgentProcess:
        """The process of all dialogues; a new one where the last one failed."""
        async with self._sharing:
            if self._shared and self._shared.failure:
                await self._shared.stop()
                self._shared = None
            self._shared = self._shared or await self._run("shared")
            return self._shared

    async def _introduce(self) -> Ready:
        process = AgentProcess([*self.prefix, *self.command], partial(self._keep, "introduction"))
        ready = await process.start(self.startup_timeout)
        await process.stop()
        return ready

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


def said_of_itself(ready: Ready) -> dict[str, str]:
    """The part of a ready message that pins a run."""
    return {
        "protocol": ready.protocol,
        "name": ready.name,
        "version": ready.version,
        "accepts_images": str(ready.accepts_images).lower(),
    }


def blocking(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, for one who cannot wait for it, whether or not a loop is running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def _words(spec: str, command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as cause:
        raise UserError(f"{spec}: cannot be split into words: {cause}") from cause
    if not words:
        raise UserError(f"{spec}: names no program; write cmd:./my_agent --flag")
    if shutil.which(words[0]):
        return words
    if Path(words[0]).is_file():
        raise UserError(f"{spec}: {words[0]} is not executable; chmod +x {words[0]}")
    raise UserError(f"{spec}: there is no program {words[0]}")
