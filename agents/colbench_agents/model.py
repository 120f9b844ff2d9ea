"""The model agent: a language model behind any OpenAI-compatible server, with ColBench's own prompts."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from colbench.config import ArgValue, derive_seed
from colbench.errors import UserError
from colbench.interfaces import Agent, ChatModel, Episode
from colbench.messages import Message, NotNegative, with_newest_picture
from colbench.models.dialect import PLAIN_TOKENS, Suggested, refuse_misspelled
from colbench.models.openai_chat import OpenAIChat
from colbench.models.pictures import MAX_EDGE
from colbench.models.transports import Client
from colbench.plugin_arguments import Positive, Seconds, Temperature
from colbench.registry import get_domain, installed_domains


class PromptedAgent:
    """A chat model with ColBench's own prompts.

    `prompt` is a file with a system prompt that replaces the domain's built-in one; `{max_turns}` in it becomes the
    maximum number of turns, and an empty file means no system message. `single_turn` selects the built-in prompt that
    demands an immediate answer (as in the single-turn rows of the paper's tables); it has no effect together with
    `prompt`. With `pictures`, a vision model is also shown the picture of its latest page. If `seed` is false, no seed
    is sent. Raises UserError if the file cannot be read.
    """

    records_tokens = True

    def __init__(
        self,
        chat: ChatModel,
        *,
        prompt: str | None = None,
        single_turn: bool = False,
        pictures: bool = False,
        temperature: Temperature = 1.0,
        max_tokens: int = 1024,
        seed: bool = True,
    ) -> None:
        own = None if prompt is None else _read(prompt)
        self.prompts = {
            domain.name: domain.agent_prompt(single_turn=single_turn, pictures=pictures)
            if own is None
            else own
            for domain in installed_domains()
        }
        self.accepts_images = pictures
        self.temperature = temperature
        self.max_tokens = max_tokens
        self.seed = seed
        self._chat = chat

    def describe(self) -> dict[str, str]:
        """Return the agent's entry in the record of the run."""
        return {"temperature": f"{self.temperature:g}", "max_tokens": str(self.max_tokens)}

    def describe_domain(self, name: str) -> dict[str, str]:
        """Return the agent's additional entries for the domain `name` in the record of the run."""
        return {"prompt": _hash(self.prompts[name])}

    @asynccontextmanager
    async def open(self, episode: Episode) -> AsyncIterator[Agent]:
        """Yield the agent of one dialogue."""
        yield _Speaker(self, self._chat, episode)


class ModelAgent(PromptedAgent):
    """A model on any OpenAI-compatible server: `openai:MODEL[@URL[,URL…]]`.

    Arguments that are not listed become fields of each request, such as `reasoning_effort=low`. `extra_body` is a JSON
    object with further fields. Raises UserError if an argument is invalid, or if a needed key is missing.

    Args:
        spec: The model, and the URLs of its servers (default: OpenAI's).
        prompt: File with a system prompt that replaces the built-in one. `{max_turns}` in it becomes the maximum number
            of turns. An empty file means no system message.
        single_turn: True to use the built-in prompt that demands an immediate answer, without questions. No effect
            together with `prompt`.
        pictures: True to show a vision model the picture of its latest page.
        temperature: Sampling temperature.
        max_tokens: Maximum number of tokens in a reply. If not set: 4,096, or 32,768 if the model reasons before it
            writes. Paper: 1,024.
        max_image_edge: Maximum width and height of pictures, in pixels.
        seed: False to send no seed.
        concurrency: Maximum number of simultaneous requests to each server.
        timeout: Time limit of a request, in seconds.
        retries: Number of times that a failed request is repeated.
        api_key_env: Environment variable with the server's key (default: the provider's, such as OPENAI_API_KEY).
        client: `openai` for the official package, or `aiohttp`, which needs less CPU time.
    """

    azure = False
    """True for Azure OpenAI."""

    def __init__(
        self,
        spec: str,
        *,
        prompt: str | None = None,
        single_turn: bool = False,
        pictures: bool = False,
        temperature: Temperature = 1.0,
        max_tokens: Positive | None = None,
        max_image_edge: Positive = MAX_EDGE,
        seed: bool = True,
        concurrency: Positive = 256,
        timeout: Seconds = 600.0,
        retries: NotNegative = 6,
        api_key_env: str | None = None,
        client: Client = "openai",
        **fields: ArgValue,
    ) -> None:
        refuse_misspelled("agent", fields, ModelAgent)
        self.chat = OpenAIChat(
            spec,
            concurrency=concurrency,
            timeout=timeout,
            retries=retries,
            api_key_env=api_key_env,
            max_image_edge=max_image_edge,
            client=client,
            azure=self.azure,
            **fields,
        )
        super().__init__(
            self.chat,
            prompt=prompt,
            single_turn=single_turn,
            pictures=pictures,
            temperature=temperature,
            max_tokens=max_tokens or Suggested(PLAIN_TOKENS),
            seed=seed,
        )

    async def __aenter__(self) -> ModelAgent:
        await self.chat.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.chat.__aexit__(*error)

    def describe(self) -> dict[str, str]:
        """Return the agent's entry in the record of the run."""
        own = super().describe()
        if isinstance(self.max_tokens, Suggested):
            own["max_tokens"] = "as suits the model"
        return {"model": self.chat.model, **own}

    def learned(self) -> list[str]:
        """Return the properties of the model and its server that were found during the run."""
        return self.chat.learned()

    def describe_domain(self, name: str) -> dict[str, str]:
        """Return the agent's additional entries for the domain `name` in the record of the run."""
        own = super().describe_domain(name)
        edge = {"max_image_edge": str(self.chat.max_image_edge)}
        return own | edge if get_domain(name).pictured else own


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


def _hash(prompt: str) -> str:
    return "sha256:" + hashlib.sha256(prompt.encode()).hexdigest()


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise UserError(f"--agent-prompt: {path} cannot be read: {cause}") from cause


class AzureAgent(ModelAgent):
    """A model on Azure OpenAI: `azure:DEPLOYMENT[@ENDPOINT]`. It takes the arguments of `openai:`.

    As in OpenAI's SDK, the API version is read from OPENAI_API_VERSION. Without `api_key_env`, the key is read from
    AZURE_OPENAI_API_KEY or AZURE_OPENAI_AD_TOKEN. If the spec has no endpoint, it is read from AZURE_OPENAI_ENDPOINT.
    """

    azure = True
