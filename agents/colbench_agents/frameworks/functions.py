"""The adapter for functions `(messages) -> str`, sync or async, and callables such as CollabLLM's `LLMCollaborator`."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from functools import partial
from typing import Any

from colbench.interfaces import Agent, Episode
from colbench.messages import Message
from colbench.models.pictures import data_url
from colbench_agents.frameworks.adapter import Adapter


class FunctionAgent(Adapter):
    """An agent that calls a function with the dialogue and the keyword arguments `args`.

    The dialogue is a list of `{"role": …, "content": …}`; the human's role is `user`. A sync function runs in a thread
    of its own, so it may block. All dialogues share the function, so the function must keep any state separately for
    each dialogue.
    """

    def __init__(self, own: Any, file: str | None, **args: Any) -> None:
        super().__init__(own, file)
        self.function = partial(own, **args)

    def converse(self, episode: Episode) -> Agent:  # noqa: ARG002 - the adapter keeps no state
        """Return an agent that calls the function."""
        return _Function(self.function)


class _Function:
    def __init__(self, function: Any) -> None:
        self._function = function

    async def reply(self, dialogue: Sequence[Message]) -> Message | str:
        reply = await asyncio.to_thread(self._function, [as_openai(m) for m in dialogue])
        result: Message | str = await reply if inspect.isawaitable(reply) else reply
        return result


def as_openai(message: Message) -> dict[str, Any]:
    """Convert a message to the format of OpenAI's chat completions, with any pictures before the text."""
    if not message.images:
        return {"role": message.role, "content": message.content}
    pictures = [
        {"type": "image_url", "image_url": {"url": data_url(png)}} for png in message.images
    ]
    return {
        "role": message.role,
        "content": [*pictures, {"type": "text", "text": message.content}],
    }
