"""The dialogue: an agent questions a human, who knows all decisions, and finally gives an answer.

This module is the core of ColBench (section 3 of the paper). The markers in messages are the markers of the paper's
release.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from colbench.clock import Clock
from colbench.command import printable
from colbench.errors import (
    AgentError,
    EndpointError,
    ScorerError,
    SimulatorError,
    boundary,
    describe_exception,
)
from colbench.failures import TOKEN_LIMIT, is_empty
from colbench.interfaces import Agent, Episode, HumanSimulator, StatefulAgent
from colbench.messages import (
    ANSWER_MARKER,
    Delivery,
    Message,
    Sampled,
    Usage,
    clean,
    flaw,
    split_reply,
    split_thoughts,
)
from colbench.registry import get_domain
from colbench.rollout import Turn
from colbench.task import Task

T = TypeVar("T")
OPENING = 60.0
"""Seconds that opening or closing a stateful agent may always take, even if the dialogue's limit is shorter."""

logger = logging.getLogger("colbench")


class Move(Struct, frozen=True, kw_only=True):
    """One reply of the agent, parsed."""

    raw: str
    said: str
    """The part that the human sees."""
    answer: str | None
    """The text after the answer marker; None without a marker."""
    thoughts: str
    """The agent's thoughts before its message, which the human never sees."""
    usage: Usage | None
    delivery: Delivery | None
    sampled: Sampled | None

    def turn(self, seconds: float) -> Turn:
        """Return the turn that begins with this move; `seconds` is the time that the agent took."""
        return Turn(
            raw=self.raw,
            said=self.said,
            thoughts=self.thoughts,
            sampled=self.sampled,
            agent_usage=self.usage,
            agent_delivery=self.delivery,
            agent_seconds=seconds,
        )


class Ending(Struct, frozen=True, kw_only=True):
    """The end of a dialogue: its answer, and whether the agent answered or reached the turn limit."""

    answer: str
    ended_by: Literal["answer", "limit"]


async def play(
    task: Task,
    agent: Agent,
    human: HumanSimulator,
    *,
    max_turns: int,
    clock: Clock,
    turns: list[Turn],
    request: str = "",
) -> Ending:
    """Run the dialogue about a task and return its ending; each turn is appended to `turns` as it happens.

    `request` is the first message; by default the task's request.

    The agent is shown its own messages as the human sees them, without their private parts. At the turn limit the whole
    last message is the answer; see `Domain.committed`. `clock` limits the total time of the agent's replies; each reply
    of the human has the same limit. If an error is raised, `turns` contains the dialogue up to that point.

    Raises AgentError if the agent fails, SimulatorError if the human fails, RenderError if the browser fails,
    ScorerError if the domain cannot read the answer, EndpointError if a model server does not respond or sends only
    empty replies up to the turn limit, and UserError if a model server refuses the key or the URL.
    """
    images = getattr(agent, "accepts_images", False)
    dialogue = Dialogue(
        task, human, max_turns=max_turns, images=images, turns=turns, request=request
    )
    while dialogue.ending is None:
        with boundary(AgentError):
            reply, seconds = await listen(lambda: agent.reply(dialogue.messages), clock)
        await dialogue.step(reply, seconds=seconds, clock=clock)
    return dialogue.ending


class Dialogue:
    """A dialogue in progress. Each `step` takes the agent's reply and then gets the human's reply, if any."""

    def __init__(
        self,
        task: Task,
        human: HumanSimulator,
        *,
        max_turns: int,
        images: bool = False,
        turns: list[Turn] | None = None,
        request: str = "",
    ) -> None:
        """Start the dialogue with the message `request` or, if `request` is empty, with the task's request.

        `images`: True if the agent is shown pictures. `turns`: the list to which turns are appended.
        """
        self.task = task
        self.turns: list[Turn] = [] if turns is None else turns
        self.messages: tuple[Message, ...] = (
            Message(role="user", content=request or task.request),
        )
        """All messages so far, the request first: everything the agent may see."""
        self.ending: Ending | None = None
        self._human = human
        self._max_turns = max_turns
        self._images = images

    async def step(self, reply: object, *, seconds: float, clock: Clock) -> None:
        """Process the agent's reply, which took `seconds`, and get the human's reply unless the dialogue has ended.

        Raises AgentError if the reply is not a valid message, ScorerError if the domain cannot read the answer, and
        SimulatorError if the human fails or takes longer than the limit of the agent's `clock`. Raises RenderError if
        the browser in which the human looks at pages fails. Raises EndpointError if all of the agent's replies up to
        the turn limit were empty replies of a model server, or if the human's model server does not respond, and
        UserError if that server refuses the key or the URL.
        """
        move = read_move(reply)
        self.turns.append(move.turn(seconds))
        if move.answer is not None:
            self.ending = Ending(answer=self._committed(move.answer), ended_by="answer")
        elif len(self.turns) >= self._max_turns:
            self._refuse_silence()
            self.ending = Ending(answer=self._committed(move.said), ended_by="limit")
        if self.ending is None:
            await self._respond(move, Clock(clock.limit, SimulatorError, clock.abandon))

    async def _respond(self, move: Move, clock: Clock) -> None:
        said = (*self.messages, Message(role="assistant", content=move.said))
        with boundary(SimulatorError):
            reply, seconds = await listen(lambda: self._human.respond(self.task, said), clock)
            heard = read_words(reply)
        self.turns[-1] = replace(
            self.turns[-1],
            human=heard.content,
            human_thoughts=heard.thoughts,
            human_usage=heard.usage,
            human_delivery=heard.delivery,
            human_seconds=seconds,
        )
        seen = heard.images if self._images else ()
        self.messages = (*said, Message(role="user", content=heard.content, images=seen))

    def _refuse_silence(self) -> None:
        """Raise EndpointError if a model server sent only empty replies, so that the dialogue is not scored.

        Accept a dialogue with recorded tokens, because training must see the empty replies of the trained model.
        """
        if not all(is_empty(turn) and turn.agent_delivery for turn in self.turns):
            return
        if any(turn.sampled for turn in self.turns):
            return
        delivered = [turn.agent_delivery for turn in self.turns if turn.agent_delivery]
        found = Counter(each.finish_reason or "unknown" for each in delivered)
        reasons = ", ".join(f"{name} ({n})" for name, n in found.most_common())
        cut = any(each.cut for each in delivered)
        fix = f"; raise the token limit with {TOKEN_LIMIT['agent']}" if cut else ""
        raise EndpointError(
            f"every reply was empty{fix} (finish_reason: {reasons})",
            kind="empty",
        )

    def _committed(self, text: str) -> str:
        """Return the answer that the domain finds in a text. Raises ScorerError if the domain's code fails."""
        with boundary(ScorerError):
            return get_domain(self.task.domain).committed(text, [turn.said for turn in self.turns])


@asynccontextmanager
async def opened(
    agent: Agent | StatefulAgent, episode: Episode, clock: Clock | None = None
) -> AsyncIterator[Agent]:
    """Open the agent of one dialogue: the new agent that a stateful agent opens, or else the agent itself.

    With a `clock`, opening and closing may each take the clock's limit or `OPENING` seconds, whichever is longer. If
    closing then fails after a complete dialogue, the error is only logged, because the answer counts. Without a
    `clock`, the time is not limited, and an error while closing is always raised. A new agent without the attribute
    `accepts_images` takes this attribute from the stateful agent.
    """
    if isinstance(agent, StatefulAgent):
        sees = getattr(agent, "accepts_images", False)
        own_agent = agent.open(episode)
        async with _InTime(own_agent, clock) if clock else own_agent as own:
            yield _Seeing(own) if sees and not hasattr(own, "accepts_images") else own
    else:
        yield agent


class _InTime:
    """A context manager with one time limit for opening and one for closing."""

    def __init__(self, manager: AbstractAsyncContextManager[Agent], clock: Clock) -> None:
        self._manager = manager
        self._limit = max(clock.limit, OPENING)
        self._abandon = clock.abandon

    async def __aenter__(self) -> Agent:
        agent, _ = await listen(self._manager.__aenter__, self._clock())
        return agent

    async def __aexit__(self, *error: Any) -> bool | None:
        try:
            result, _ = await listen(lambda: self._manager.__aexit__(*error), self._clock())
        except Exception as failure:
            if any(error):
                raise
            logger.warning("closing the agent failed: %s", printable(describe_exception(failure)))
            return None
        return result

    def _clock(self) -> Clock:
        return Clock(self._limit, AgentError, self._abandon)


class _Seeing:
    accepts_images = True

    def __init__(self, agent: Agent) -> None:
        self.reply = agent.reply


def read_reply(reply: object) -> Message:
    """Return the agent's reply as a message. Raises AgentError if the reply is not a valid message."""
    if isinstance(reply, str):
        reply = Message(role="assistant", content=reply)
    if not isinstance(reply, Message) or not isinstance(reply.content, str):
        raise AgentError(
            f"reply() returned {type(reply).__name__}; it must return a Message with text, or a str",
            kind="reply",
        )
    if wrong := flaw(reply):
        raise AgentError(f"reply() returned a malformed Message: {wrong}", kind="reply")
    return reply


def read_move(reply: object) -> Move:
    """Split a reply into message and, if present, answer. Raises AgentError if the reply is not a valid message."""
    reply = read_reply(reply)
    raw = clean(reply.content)
    thoughts, _, public = split_reply(raw)
    said, marker, answer = public.partition(ANSWER_MARKER)
    return Move(
        raw=raw,
        said=said.strip() if marker else public.strip(),
        answer=answer.strip() if marker else None,
        thoughts=thoughts or clean(reply.thoughts),
        usage=reply.usage,
        delivery=reply.delivery,
        sampled=reply.sampled,
    )


def read_words(reply: object) -> Message:
    """Return the human's reply with its thoughts split off and lone surrogates replaced.

    Raises SimulatorError if the reply is not a valid message.
    """
    if isinstance(reply, str):
        reply = Message(role="user", content=reply)
    if not isinstance(reply, Message) or not isinstance(reply.content, str):
        raise SimulatorError(
            f"respond() returned {type(reply).__name__}; it must return a Message with text, or a str",
            kind="reply",
        )
    if wrong := flaw(reply):
        raise SimulatorError(f"respond() returned a malformed Message: {wrong}", kind="reply")
    thoughts, words = split_thoughts(reply.content)
    return replace(reply, content=clean(words), thoughts=clean(thoughts or reply.thoughts))


async def listen(speak: Callable[[], Awaitable[T]], clock: Clock) -> tuple[T, float]:
    """Return a speaker's message and the seconds it took; if the message is late, `clock` raises the speaker's error.

    Raises RuntimeError, with the traceback of the speaker's code, if the speaker tries to end the process or cancels
    itself.
    """
    start = time.perf_counter()
    try:
        said = await clock.hear(speak)
    except (Exception, KeyboardInterrupt):
        raise
    except asyncio.CancelledError as cause:
        task = asyncio.current_task()
        if task and task.cancelling():
            raise
        error = RuntimeError("the code canceled itself")
        raise error.with_traceback(cause.__traceback__) from cause
    except BaseException as cause:
        reason = f"the code raised {type(cause).__name__}: {cause}".removesuffix(": ")
        error = RuntimeError(reason)
        raise error.with_traceback(cause.__traceback__) from cause
    return said, time.perf_counter() - start
