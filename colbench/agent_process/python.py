"""A Python agent in its own process, as seen by the harness; `host` runs in that process.

None of the agent's code is imported here. The host measures the time of each reply, because only the host sees what
blocks its event loop. The harness also counts the seconds, minus the seconds that the host excludes. The harness can
therefore stop a host that does not respond.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from colbench.agent_process.command import CommandAgent, Conversation
from colbench.agent_process.process import AgentProcess
from colbench.agent_process.program import EXIT_GRACE
from colbench.agent_process.protocol import as_message, messages
from colbench.clock import GRACE, RUNNING
from colbench.command import printable
from colbench.config import ArgValue
from colbench.errors import AgentError, EndpointError, UserError
from colbench.interfaces import Agent
from colbench.messages import Message

STARTUP = 1800.0
"""Maximum seconds until the host is ready: an agent may load a model when it is built."""
HOST_GRACE = 2 * GRACE
"""Seconds that the host has, after the time limit of a dialogue, to report the timeout."""
_BOOT = (
    "import json, sys; plan = json.loads(sys.argv[1]); sys.path[:] = plan['path']; "
    "from colbench.agent_process.host import main; main()"
)
"""Code that starts the host. Until it sets `sys.path`, the option `-P` keeps the current folder out of that path."""


class Plan(Struct, frozen=True, kw_only=True):
    """The command-line argument with which the harness starts the host of a Python agent."""

    path: tuple[str, ...]
    """`sys.path` of the harness."""
    spec: str
    args: dict[str, ArgValue]
    patience: float
    """Seconds to wait for a model server that is unreachable or overloaded."""


class PythonAgent(CommandAgent):
    """A Python agent in its own process. This process builds the agent from `spec` (see `colbench.plugins`) and `args`.

    One process runs all dialogues. `patience` is the run's `endpoint_patience`.
    """

    descriptors = 0
    exit_grace = 20.0
    quoted = ""
    advice = ""

    def __init__(self, spec: str, args: Mapping[str, ArgValue], *, patience: float) -> None:
        path = tuple(os.path.abspath(entry) if entry else "" for entry in sys.path)
        plan = Plan(path=path, spec=spec, args=dict(args), patience=patience)
        command = [sys.executable, "-P", "-c", _BOOT, msgspec.json.encode(plan).decode()]
        super().__init__(spec, command, startup_timeout=STARTUP)

    def describe(self) -> dict[str, str]:
        """Return the description of the agent that was received from the agent's process."""
        return self.ready.description

    def learned(self) -> Sequence[str]:
        """Return the properties of the model and its server that the agent has found."""
        return self._shared.learned if self._shared else ()

    async def __aenter__(self) -> PythonAgent:
        """Start the agent's process, and open the agent in it.

        Raises EndpointError if a server does not answer the agent or this machine cannot start another process, and
        UserError if another error prevents the start.
        """
        try:
            await self.share()
        except AgentError as cause:
            raise UserError(f"--agent {self.spec}: {cause}") from cause
        return self

    async def __aexit__(self, *error: object) -> None:
        """End the agent's process; if the run was interrupted, wait only briefly until it ends."""
        process = self._shared
        if process and any(isinstance(each, asyncio.CancelledError) for each in error):
            process.grace = EXIT_GRACE
        await super().__aexit__(*error)
        if process and process.last_error:
            logger = logging.getLogger("colbench")
            logger.warning("stopping the agent failed: %s", printable(process.last_error))

    def conversation(self, process: AgentProcess, episode: str) -> Agent:
        """Return the agent of a dialogue that has already begun in the host."""
        return _Conversation(process, episode, accepts_images=self.accepts_images)

    async def _run(self, whose: str) -> AgentProcess:
        process = await super()._run(whose)
        try:
            await process.enter()
        except (AgentError, EndpointError, UserError):
            await process.stop()
            raise
        return process


class _Conversation(Conversation):
    async def reply(self, dialogue: Sequence[Message]) -> Message:
        clock = RUNNING.get()
        if clock is None:
            return await super().reply(dialogue)
        request = messages(self._episode, dialogue, clock.left)
        limit, clock.limit = clock.limit, clock.limit + HOST_GRACE
        try:
            return as_message(await self._process.ask(request), "")
        finally:
            if clock.is_over:
                silent = "no answer in time: the agent's process does not respond"
                self._process.fail(AgentError(silent, kind="timeout"))
            clock.limit = limit
