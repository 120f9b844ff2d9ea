"""The dialogues of an agent in its host.

Each dialogue runs in an asyncio task that opens the agent, gets its replies and closes the agent.
"""

from __future__ import annotations

import asyncio
import errno
import sys
import textwrap
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec.structs import asdict

from colbench.agent_process.last_words import SURVIVED
from colbench.agent_process.pace import Pace
from colbench.agent_process.protocol import (
    MAX_LINE,
    End,
    Error,
    FromAgent,
    Messages,
    Reply,
    Said,
    Start,
    Tokens,
    encode,
    read_answer,
)
from colbench.clock import STOP_GRACE, Abandon, Clock, supervised
from colbench.dialogue import listen, opened, read_reply
from colbench.errors import (
    AgentError,
    BoundaryError,
    EndpointError,
    UserError,
    boundary,
    describe_exception,
)
from colbench.interfaces import Agent, Episode, StatefulAgent
from colbench.messages import Message, clean
from colbench.models.pictures import from_data_url

UNLIMITED = 1e9
"""Time limit in seconds of a dialogue whose request sets no time limit."""


class Dialogues:
    """All dialogues of an agent; `say` sends a message to the harness."""

    def __init__(
        self, agent: Agent | StatefulAgent, pace: Pace, say: Callable[[FromAgent], None]
    ) -> None:
        self._agent = agent
        self._pace = pace
        self._say = say
        self._talks: dict[str, _Talk] = {}

    def take(self, message: Start | Messages | End) -> None:
        """Begin, continue or end a dialogue."""
        match message:
            case Start(episode=facts):
                episode = Episode(**asdict(facts))
                self._talks[facts.id] = _Talk(self._agent, episode, self._pace, self._say)
            case Messages(episode=name):
                self._talks[name].ask(message)
            case End(episode=name):
                if talk := self._talks.pop(name, None):
                    talk.end()

    async def stop(self) -> None:
        """Stop the dialogues that are still running."""
        tasks = [talk.task for talk in self._talks.values()]
        for talk in self._talks.values():
            talk.end()
        if tasks:
            await asyncio.wait(tasks, timeout=2 * STOP_GRACE)


class _Talk:
    """One dialogue."""

    def __init__(
        self,
        agent: Agent | StatefulAgent,
        episode: Episode,
        pace: Pace,
        say: Callable[[FromAgent], None],
    ) -> None:
        self._agent = agent
        self._episode = episode
        self._pace = pace
        self._say = say
        self._requests: asyncio.Queue[Messages | None] = asyncio.Queue()
        self._asked = False
        self.task = asyncio.create_task(self._run())

    def ask(self, request: Messages) -> None:
        """Have the agent reply to the dialogue so far."""
        self._asked = True
        self._requests.put_nowait(request)

    def end(self) -> None:
        """Close the agent; a pending reply is canceled."""
        if self._asked:
            self.task.cancel()
        self._requests.put_nowait(None)

    async def _run(self) -> None:
        try:
            await supervised(self._converse)
        except asyncio.CancelledError:
            self._pace.answered(self._episode.id)
        except (BoundaryError, UserError) as error:
            self._give_up(error)

    async def _converse(self, abandon: Abandon) -> None:
        request = await self._requests.get()
        if request is None:
            return
        clock = _clock(request, abandon)
        with boundary(AgentError):
            async with opened(self._agent, self._episode, clock) as agent:
                while request:
                    self._pace.counted(request.episode, clock)
                    message = await _reply(agent, request.messages, clock)
                    self._send(_as_answer(self._episode.id, message))
                    request = await self._requests.get()
                    clock = _clock(request, abandon) if request else clock

    def _give_up(self, error: BoundaryError | UserError) -> None:
        """Send the failure as the answer to the pending request.

        If no request is pending, write the failure to standard error.
        """
        if not self._asked:
            print(f"{self._episode.id}: error after the dialogue: {error}", file=sys.stderr)
            return
        if isinstance(error, AgentError) and error.kind == "exception" and error.__cause__:
            _show_traceback(self._episode.id, error.__cause__)
        kind = error.kind if isinstance(error, BoundaryError) else "exception"
        text = str(error)
        if isinstance(error, BoundaryError) and not isinstance(error, AgentError | EndpointError):
            text = describe_exception(error)
        text += write_hint(error)
        self._send(
            Error(
                episode=self._episode.id,
                message=clean(text),
                retry=isinstance(error, EndpointError),
                kind=kind,
                stop=isinstance(error, UserError),
            )
        )

    def _send(self, answer: Reply | Error) -> None:
        self._pace.answered(self._episode.id)
        self._say(answer)
        self._asked = False


def _show_traceback(episode: str, error: BaseException) -> None:
    """Write the traceback of an exception of the agent to standard error, which the harness keeps in a log."""
    text = "".join(traceback.format_exception(error))
    with suppress(OSError, ValueError):  # the agent may have closed standard error
        lines = textwrap.indent(text, f"{SURVIVED}{episode} ", lambda _: True)
        print(lines, end="", file=sys.stderr)


def write_hint(error: BaseException) -> str:
    """Return advice if a read-only file system, as in isolation, caused the failure; "" for other failures."""
    cause = error.__cause__
    refused = isinstance(cause, OSError) and cause.errno == errno.EROFS
    advice = "; --agent-write FOLDER, without --agent-sandbox, lets an isolated agent write to that folder"
    return advice if refused else ""


async def _reply(agent: Agent, said: Sequence[Said], clock: Clock) -> Message:
    sees = getattr(agent, "accepts_images", False)
    dialogue = tuple(
        Message(
            role=each.role,
            content=each.content,
            images=tuple(map(from_data_url, each.images)) if sees else (),
        )
        for each in said
    )
    reply, _ = await listen(lambda: agent.reply(dialogue), clock)
    return read_reply(reply)


def _as_answer(episode: str, message: Message) -> Reply:
    """Return a message as the reply for the harness.

    Raises AgentError if the harness would refuse the reply. The harness would then stop the host.
    """
    reply = Reply(
        episode=episode,
        content=clean(message.content),
        usage=Tokens(**asdict(message.usage)) if message.usage else None,
        thoughts=clean(message.thoughts),
        delivery=message.delivery,
        sampled=message.sampled,
    )
    line = encode(reply)
    if len(line) > MAX_LINE:
        raise AgentError(f"it sent a reply of more than {MAX_LINE} bytes", kind="malformed")
    read_answer(line)
    return reply


def _clock(request: Messages, abandon: Abandon) -> Clock:
    seconds = UNLIMITED if request.seconds is None else request.seconds
    return Clock(seconds, AgentError, abandon)
