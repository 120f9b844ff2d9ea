"""The model agent: a language model behind any OpenAI-compatible server, with ColBench's own prompts."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import resources
from pathlib import Path
from typing import get_args

from msgspec.structs import replace

from colbench.config import derive_seed
from colbench.errors import UserError
from colbench.interfaces import Agent, ChatModel, Episode
from colbench.messages import Message
from colbench.models.openai_chat import OpenAIChat
from colbench.models.pictures import MAX_EDGE
from colbench.task import Domain

DOMAINS: tuple[Domain, ...] = get_args(Domain)
OWN_PAGE = (
    "The picture in the person's last message shows your own newest page, as they see it; "
    "it is not the page that they have in mind."
)
"""Added to the prompt of an agent that is shown pictures."""


class PromptedAgent:
    """A chat model with ColBench's own prompts.

    `prompt` is a file with a system prompt in place of the built-in one of the domain; `{max_turns}` in it
    becomes the number of turns, and where the file is empty there is no system message. `single_turn` makes the agent
    answer at once (the paper's single-turn rows). With `pictures` a vision model is also shown the picture of its
    newest page. Without `seed` no seed is sent. Raises UserError when the file cannot be read.
    """

    records_tokens = True

    def __init__(
        self,
        chat: ChatModel,
        *,
        prompt: str | None = None,
        single_turn: bool = False,
        pictures: bool = False,
        temperature: float = 1.0,
        max_tokens: int = 1024,
        seed: bool = True,
    ) -> None:
        own = None if prompt is None else _read(prompt)
        self.prompts = {
            domain: builtin_prompt(domain, single_turn=single_turn, pictures=pictures)
            if own is None
            else own
            for domain in DOMAINS
        }
        self.accepts_images = pictures
        self.temperature = temperature
        self.max_tokens = max_tokens
        self.seed = seed
        self._chat = chat

    def describe(self) -> dict[str, str]:
        """What is recorded in the run beside the flag; `frontend_…` is for frontend design alone."""
        return {
            "prompt": _hash(self.prompts["backend"]),
            "temperature": f"{self.temperature:g}",
            "max_tokens": str(self.max_tokens),
            "frontend_prompt": _hash(self.prompts["frontend"]),
        }

    @asynccontextmanager
    async def open(self, episode: Episode) -> AsyncIterator[Agent]:
        """The agent of one dialogue."""
        yield _Speaker(self, self._chat, episode)


class ModelAgent(PromptedAgent):
    """`openai:MODEL[@BASE_URL]`. Sampled as in the paper: temperature 1.0, at most 1,024 new tokens.

    `seed=false` sends no seed, for servers that refuse one. The other arguments are those of PromptedAgent and of
    OpenAIChat.
    """

    def __init__(
        self,
        spec: str,
        *,
        prompt: str | None = None,
        single_turn: bool = False,
        pictures: bool = False,
        temperature: float = 1.0,
        max_tokens: int = 1024,
        max_image_edge: int = MAX_EDGE,
        seed: bool = True,
        concurrency: int = 256,
        timeout: float = 600.0,
        retries: int = 6,
        api_key_env: str | None = None,
    ) -> None:
        self.chat = OpenAIChat(
            spec,
            concurrency=concurrency,
            timeout=timeout,
            retries=retries,
            api_key_env=api_key_env,
            max_image_edge=max_image_edge,
        )
        super().__init__(
            self.chat,
            prompt=prompt,
            single_turn=single_turn,
            pictures=pictures,
            temperature=temperature,
            max_tokens=max_tokens,
            seed=seed,
        )

    async def __aenter__(self) -> ModelAgent:
        await self.chat.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.chat.__aexit__(*error)

    def describe(self) -> dict[str, str]:
        """What is recorded in the run beside the flag."""
        return {
            "model": self.chat.model,
            **super().describe(),
            "frontend_max_image_edge": str(self.chat.max_image_edge),
        }


class _Speaker:
    def __init__(self, agent: PromptedAgent, chat: ChatModel, episode: Episode) -> None:
        self.accepts_images = agent.accepts_images
        self._agent = agent
        self._chat = chat
        self._seed = episode.seed
        self._record = episode.record_tokens
        prompt = agent.prompts[episode.domain].replace("{max_turns}", str(episode.max_turns))
        self._system = [Message(role="system", content=prompt)] if prompt else []

    async def reply(self, dialogue: Sequence[Message]) -> Message:
        seed = derive_seed("reply", self._seed, len(dialogue)) if self._agent.seed else None
        return await self._chat.chat(
            [*self._system, *with_newest_picture(dialogue)],
            temperature=self._agent.temperature,
            max_tokens=self._agent.max_tokens,
            seed=seed,
            tokens=self._record,
        )


def with_newest_picture(dialogue: Sequence[Message]) -> list[Message]:
    """The dialogue without all but its newest pictures: each takes thousands of tokens."""
    newest = max((n for n, message in enumerate(dialogue) if message.images), default=-1)
    return [
        message if n == newest else replace(message, images=())
        for n, message in enumerate(dialogue)
    ]


def builtin_prompt(domain: Domain, *, single_turn: bool, pictures: bool) -> str:
    """The built-in system prompt for a domain, for an agent that sees the pictures of its pages or not."""
    name = f"{domain}_single_turn.txt" if single_turn else f"{domain}.txt"
    file = resources.files("colbench_agents").joinpath("prompts", name)
    prompt = file.read_text("utf-8").strip()
    return f"{prompt}\n\n{OWN_PAGE}" if pictures and domain == "frontend" else prompt


def _hash(prompt: str) -> str:
    return "sha256:" + hashlib.sha256(prompt.encode()).hexdigest()


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise UserError(f"--agent-prompt: {path} cannot be read: {cause}") from cause
