"""An agent for a model whose replies make no sense: every reply becomes the text of a page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from html import escape

from msgspec.structs import replace

from colbench.interfaces import Agent, Episode
from colbench.messages import Message
from colbench_agents.vllm import VLLMAgent


class PageWriter(VLLMAgent):
    """The agent `vllm:` with a page around each reply."""

    @asynccontextmanager
    async def open(self, episode: Episode) -> AsyncIterator[Agent]:
        async with super().open(episode) as speaker:
            yield _OnPages(speaker)


class _OnPages:
    accepts_images = True

    def __init__(self, speaker: Agent) -> None:
        self._speaker = speaker

    async def reply(self, dialogue: Sequence[Message]) -> Message:
        said = await self._speaker.reply(dialogue)
        return replace(said, content=f"<html><body><p>{escape(said.content)}</p></body></html>")
