"""The dialogue: a human who knows and an agent who does not take turns until the agent answers.

This is the whole idea of ColBench on one screen (paper, section 3; the markers as in the paper's release).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from colbench.errors import AgentError, SimulatorError, boundary
from colbench.interfaces import Agent, Episode, HumanSimulator, StatefulAgent
from colbench.messages import ANSWER_MARKER, PUBLIC_MARKER, Message, Sampled, Usage, clean
from colbench.pages.extract import extract_page
from colbench.rollout import Turn
from colbench.task import Task

T = TypeVar("T")


class Move(Struct, frozen=True, kw_only=True):
    """One reply of the agent, read."""

    raw: str
    said: str
    """What the human sees."""
    answer: str | None
    """The text after the answer marker; None without one."""
    usage: Usage | None
    sampled: Sampled | None

    def turn(self, seconds: float) -> Turn:
        """The turn that begins with this move, which took so long."""
        return Turn(
            raw=self.raw,
            said=self.said,
            sampled=self.sampled,
            agent_usage=self.usage,
            agent_seconds=seconds,
        )


class Ending(Struct, frozen=True, kw_only=True):
    """How a dialogue came to its end, and what it came to."""

    answer: str
    ended_by: Literal["answer", "limit"]


async def play(
    task: Task,
    agent: Agent,
    human: HumanSimulator,
    *,
    max_turns: int,
    deadline: float,
    turns: list[Turn],
) -> Ending:
    """Let agent and human talk about a task; each turn is appended to `turns` as it happens.

    The agent sees what the human sees: its own private parts are not played back to it. At the turn limit
    the whole last message is the answer; see `committed` for pages. `deadline` is a time of the event loop's
    clock, put off by what the human takes: that, rendering included, is not the agent's doing.
    Raises AgentError or SimulatorError, whoever's turn it was; `turns` then holds what was said before.
    """
    dialogue = [Message(role="user", content=task.request)]
    while True:
        with boundary(AgentError):
            reply, seconds = await _timed(lambda: agent.reply(tuple(dialogue)), deadline)
        move = read_move(reply)
        turn = move.turn(seconds)
        turns.append(turn)
        if move.answer is not None:
            return Ending(answer=committed(task, move.answer, turns), ended_by="answer")
        if len(turns) == max_turns:
            return Ending(answer=committed(task, move.said, turns), ended_by="limit")

        dialogue.append(Message(role="assistant", content=move.said))
        with boundary(SimulatorError):
            reply, seconds = await _timed(lambda: human.respond(task, tuple(dialogue)), deadline)
            heard = read_words(reply)
        deadline += seconds
        words = clean(heard.content)
        turns[-1] = replace(turn, human=words, human_usage=heard.usage, human_seconds=seconds)
        seen = heard.images if getattr(agent, "accepts_images", False) else ()
        dialogue.append(Message(role="user", content=words, images=seen))


@asynccontextmanager
async def opened(agent: Agent | StatefulAgent, episode: Episode) -> AsyncIterator[Agent]:
    """The agent of one dialogue: its own where the agent keeps something for each, else the agent itself.

    What its own does not say of pictures, the agent says for it.
    """
    if isinstance(agent, StatefulAgent):
        sees = getattr(agent, "accepts_images", False)
        async with agent.open(episode) as own:
            yield _Seeing(own) if sees and not hasattr(own, "accepts_images") else own
    else:
        yield agent


class _Seeing:
    accepts_images = True

    def __init__(self, agent: Agent) -> None:
        self.reply = agent.reply


def committed(task: Task, text: str, turns: Sequence[Turn]) -> str:
    """What an agent that ends on `text` is judged by.

    That is the text, but in frontend design, where it shows no page, the last message that did.
    """
    if task.domain == "backend":
        return text
    shown = (
        said for said in (text, *(turn.said for turn in reversed(turns))) if extract_page(said)
    )
    return next(shown, text)


def read_move(reply: object) -> Move:
    """What a reply says, and the answer if it gives one. Raises AgentError if it is no message."""
    if isinstance(reply, str):
        reply = Message(role="assistant", content=reply)
    if not isinstance(reply, Message) or not isinstance(reply.content, str):
        raise AgentError(
            f"reply() returned {type(reply).__name__}; it must return a Message or a str"
        )
    raw = clean(reply.content)
    public = raw.partition(PUBLIC_MARKER)[2] if PUBLIC_MARKER in raw else raw
    said, marker, answer = public.partition(ANSWER_MARKER)
    return Move(
        raw=raw,
        said=said.strip() if marker else public.strip(),
        answer=answer.strip() if marker else None,
        usage=reply.usage,
        sampled=reply.sampled,
    )


def read_words(reply: object) -> Message:
    """What the human said. Raises SimulatorError if it is no message."""
    if isinstance(reply, str):
        return Message(role="user", content=reply)
    if not isinstance(reply, Message) or not isinstance(reply.content, str):
        raise SimulatorError(
            f"respond() returned {type(reply).__name__}; it must return a Message or a str"
        )
    return reply


async def _timed(speak: Callable[[], Awaitable[T]], deadline: float) -> tuple[T, float]:
    """What was said, and the seconds it took.

    A speaker that would end the process, or cancels itself, only failed; one that blocked the event loop
    past the deadline too.
    """
    start = time.perf_counter()
    try:
        async with asyncio.timeout_at(deadline):
            said = await speak()
    except (Exception, KeyboardInterrupt):
        raise
    except asyncio.CancelledError as cause:
        task = asyncio.current_task()
        if task and task.cancelling():
            raise
        raise RuntimeError("it cancelled itself") from cause
    except BaseException as cause:
        raise RuntimeError(f"it raised {type(cause).__name__}: {cause}") from cause
    if asyncio.get_running_loop().time() > deadline:
        raise TimeoutError
    return said, time.perf_counter() - start
