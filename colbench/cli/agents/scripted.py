"""Dialogues for `colbench agents check`: run as in an evaluation, with a human who follows a script."""

from __future__ import annotations

import asyncio
import struct
import zlib
from collections.abc import Sequence
from uuid import uuid4

from msgspec import Struct

from colbench.clock import Clock
from colbench.dialogue import Ending, opened, play
from colbench.errors import AgentError, boundary
from colbench.interfaces import Agent, Episode, StatefulAgent
from colbench.messages import Message
from colbench.registry import get_domain
from colbench.rollout import Turn
from colbench.task import Hidden, Task

ANY_TEXT = (
    "Größe, 総計, сумма, المجموع, 👩‍💻 e\u0301 — “so” 'so' \"so\" `so` \\n \\u0041 {so} {0} %s %(so)d $HOME </so> "
    "&amp; <script>1</script>\ttab\u2028line\u00a0space\ufeff\r\n```\nOUTPUT of it\n```\n"
)
"""Text that a person can write and that makes a careless program fail."""
FAR_OFF = 1e9
"""A timeout that is never reached, in seconds."""


class Played(Struct, frozen=True, kw_only=True):
    """A dialogue that was run."""

    turns: tuple[Turn, ...]
    ending: Ending | None
    failure: AgentError | None

    def passed(self) -> Played:
        """Return this dialogue or, if the dialogue failed, raise its error."""
        if self.failure:
            raise self.failure
        return self


class Script(Struct, kw_only=True):
    """A scripted human: the request is `before` plus the domain's example request; all replies are the same."""

    domain: str
    name: str = "add_up"
    """Name that replaces `{name}` in the domain's example request, such as the name of a function."""
    before: str = ""
    picture: bytes = b""
    """Picture (PNG) that is shown with each reply of the human; empty if no picture is shown."""
    turns: int = 1
    """Maximum number of the agent's turns."""
    id: str = ""
    """ID of the episode; if empty, each dialogue gets a random ID."""

    async def play(
        self, agent: Agent | StatefulAgent, patience: float, limit: float = FAR_OFF
    ) -> Played:
        """Run the dialogue with an agent that has `patience` seconds per reply and `limit` seconds for all replies.

        An error of the agent becomes `Played.failure`; any other error is raised.
        """
        request = self.before + get_domain(self.domain).example_request.format(name=self.name)
        task = Task(
            id="check", domain=self.domain, request=request, hidden=Hidden(reference="None")
        )
        episode = Episode(
            id=self.id or f"check-{uuid4().hex[:10]}",
            seed=7,
            max_turns=self.turns,
            domain=self.domain,
        )
        clock = Clock(limit)
        turns: list[Turn] = []
        ending, failure = None, None
        try:
            with boundary(AgentError):
                async with opened(agent, episode, clock) as own:
                    ending = await play(
                        task,
                        _Hurried(own, patience),
                        self,
                        max_turns=self.turns,
                        clock=clock,
                        turns=turns,
                    )
        except AgentError as error:
            failure = error
        return Played(turns=tuple(turns), ending=ending, failure=failure)

    async def respond(self, task: Task, dialogue: Sequence[Message]) -> Message:  # noqa: ARG002 - the protocol's
        """Return the same message every time."""
        images = (self.picture,) if self.picture else ()
        return Message(role="user", content=get_domain(self.domain).example_reply, images=images)


class _Hurried:
    def __init__(self, agent: Agent, patience: float) -> None:
        self.accepts_images = getattr(agent, "accepts_images", False)
        self._agent = agent
        self._patience = patience

    async def reply(self, dialogue: Sequence[Message]) -> Message | str:
        try:
            async with asyncio.timeout(self._patience) as limit:
                return await self._agent.reply(dialogue)
        except TimeoutError as cause:
            if not limit.expired():
                raise
            late = f"no reply within {self._patience:g} s (--timeout)"
            raise AgentError(late, kind="timeout") from cause


def white_picture(edge: int) -> bytes:
    """Return a PNG picture of a white square with sides of `edge` pixels."""
    rows = (b"\0" + b"\xff" * edge) * edge
    header = struct.pack(">2I5B", edge, edge, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
