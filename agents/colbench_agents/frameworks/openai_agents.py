"""The adapter for agents of the OpenAI Agents SDK (`pip install openai-agents`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents import Runner
from colbench.errors import AgentError
from colbench.interfaces import Agent, Episode
from colbench.messages import Message
from colbench.models.pictures import data_url
from colbench_agents.frameworks.adapter import Adapter, said


class OpenAIAgentsAgent(Adapter):
    """An agent that calls `Runner.run` in every turn.

    Between turns, the adapter keeps the last agent that spoke and all items, including tool calls. The argument
    `context` of `Runner.run` is the Episode, so that dynamic instructions and tools can read `max_turns` and `seed`.
    """

    def converse(self, episode: Episode) -> Agent:
        """Return an agent with a separate history for this dialogue."""
        return _Conversation(self.own, episode)


class _Conversation:
    def __init__(self, agent: Any, episode: Episode) -> None:
        self._agent = agent
        self._episode = episode
        self._items: list[Any] = []

    async def reply(self, dialogue: Sequence[Message]) -> Message:
        asked = [*self._items, as_item(dialogue[-1])]
        result = await Runner.run(self._agent, asked, context=self._episode)
        text, usage = result.final_output, result.context_wrapper.usage
        if not isinstance(text, str):
            raise AgentError(
                f"its output is a {type(text).__name__}, not text; remove `output_type`",
                kind="reply",
            )
        self._items, self._agent = result.to_input_list(), result.last_agent
        return said(
            text,
            prompt=usage.input_tokens,
            completion=usage.output_tokens,
            requests=usage.requests,
        )


def as_item(message: Message) -> dict[str, Any]:
    """Convert a message to an input item of the SDK, in the format of OpenAI's Responses API."""
    if not message.images:
        return {"role": message.role, "content": message.content}
    pictures = [
        {"type": "input_image", "image_url": data_url(png), "detail": "auto"}
        for png in message.images
    ]
    return {
        "role": message.role,
        "content": [*pictures, {"type": "input_text", "text": message.content}],
    }
