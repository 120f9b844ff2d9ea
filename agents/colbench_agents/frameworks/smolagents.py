"""The adapter for agents of smolagents (`pip install smolagents`), such as CodeAgent and ToolCallingAgent."""

from __future__ import annotations

import asyncio
import copy
import io
from collections.abc import Iterator, Sequence
from typing import Any

from colbench.errors import UserError, describe_exception
from colbench.interfaces import Agent, Episode
from colbench.messages import Message
from colbench_agents.frameworks.adapter import Adapter, said


class SmolagentsAgent(Adapter):
    """An agent that calls `run` in a thread for every turn; the final answer is the reply.

    Each dialogue has its own copy of the user's agent, which keeps memory between turns; model, tools and logger are
    shared. Raises UserError if the user's agent cannot be copied, or if its `executor_type` is not `local`.
    """

    def __init__(self, own: Any, file: str | None) -> None:
        super().__init__(own, file)
        if any(getattr(one, "executor_type", "local") != "local" for one in _team(own)):
            raise UserError(
                "each dialogue needs its own executor; leave `executor_type` at 'local'"
            )
        try:
            copied(own)
        except Exception as cause:
            said = describe_exception(cause)
            raise UserError(
                f"each dialogue needs a copy of the agent, and copying fails: {said}"
            ) from cause

    def converse(self, episode: Episode) -> Agent:  # noqa: ARG002 - `run` has no use for it
        """Return a copy of the agent."""
        return _Conversation(copied(self.own))


class _Conversation:
    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self._told = 0

    async def reply(self, dialogue: Sequence[Message]) -> Message:
        answer = await asyncio.to_thread(self._run, dialogue[-1])
        steps = [step for step in self._agent.memory.steps if getattr(step, "token_usage", None)]
        counts = [step.token_usage for step in steps[self._told :]]
        self._told = len(steps)
        return said(
            str(answer),
            prompt=sum(count.input_tokens for count in counts),
            completion=sum(count.output_tokens for count in counts),
            requests=len(counts),
        )

    def _run(self, message: Message) -> Any:
        from PIL import Image

        pictures = [Image.open(io.BytesIO(png)) for png in message.images]
        return self._agent.run(
            message.content,
            reset=False,
            images=pictures or None,
            return_full_result=False,
        )


def copied(agent: Any) -> Any:
    """Copy an agent and the agents it manages; the copies share the models, tools and loggers of the originals."""
    shared = [each for one in _team(agent) for each in (one.model, one.logger, *one.tools.values())]
    return copy.deepcopy(agent, {id(each): each for each in shared})


def _team(agent: Any) -> Iterator[Any]:
    yield agent
    for managed in agent.managed_agents.values():
        yield from _team(managed)
