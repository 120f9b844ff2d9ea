"""Code shared by all adapters. An adapter has one conversation per dialogue, and one thread for all conversations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from colbench.interfaces import Agent, Episode
from colbench.messages import Message, Usage
from colbench.plugin_files import name_of, source_hash
from colbench_agents.frameworks.failures import attributed
from colbench_agents.frameworks.side import Side


class Adapter(ABC):
    """A ColBench agent that wraps the user's object `own`; `file` is the Python file that contains `own`, if any.

    The object's attributes `accepts_images` and `domains` have the same meaning as for any other agent.
    """

    def __init__(self, own: Any, file: str | None) -> None:
        self.own = own
        self.file = file
        self.accepts_images: bool = getattr(own, "accepts_images", False)
        self.domains: Sequence[str] | None = getattr(own, "domains", None)
        self.answered = False
        """True once the agent has replied in any dialogue. Its model server then accepts the key and has the model."""
        self._side = Side()

    @abstractmethod
    def converse(self, episode: Episode) -> Agent:
        """Return the agent of one dialogue, whose `reply` is called in the adapter's thread."""

    async def __aenter__(self) -> Adapter:
        self._side.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._side.stop()

    def describe(self) -> dict[str, str]:
        """Return the name of the function or of the object's class and, if `file` is set, the source hash of `file`."""
        named = self.own if hasattr(self.own, "__qualname__") else type(self.own)
        said = {"own": name_of(named)}
        if self.file:
            said["source"] = source_hash(Path(self.file))
        return said

    @asynccontextmanager
    async def open(self, episode: Episode) -> AsyncIterator[Agent]:
        """Yield the agent of one dialogue."""
        yield _Speaker(self, self._side, self.converse(episode))


class _Speaker:
    def __init__(self, adapter: Adapter, side: Side, conversation: Agent) -> None:
        self.accepts_images = adapter.accepts_images
        self._adapter = adapter
        self._side = side
        self._conversation = conversation

    async def reply(self, dialogue: Sequence[Message]) -> Message | str:
        with attributed(answered=self._adapter.answered):
            reply = await self._side.run(self._reply(dialogue))
        self._adapter.answered = True
        return reply

    async def _reply(self, dialogue: Sequence[Message]) -> Message | str:
        return await self._conversation.reply(dialogue)


def said(content: str, *, prompt: int, completion: int, requests: int) -> Message:
    """Return a reply. If the framework reported requests to a model, the reply includes the token counts."""
    usage = Usage(prompt_tokens=prompt, completion_tokens=completion, requests=requests)
    return Message(role="assistant", content=content, usage=usage if requests else None)
