"""The agent and the human for `vllm:MODEL_OR_PATH`: like `openai:`, with a server that lives as long as the run.

If the agent and the human have the same model, flags, `port` and `log`, they share one server.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

from colbench.config import ArgValue
from colbench.interfaces import Agent, Episode
from colbench.messages import NotNegative
from colbench.models.openai_chat import OpenAIChat
from colbench.models.pictures import MAX_EDGE
from colbench.models.transports import Client
from colbench.plugin_arguments import Positive, Seconds, Temperature
from colbench.prompted_human import PromptedHuman
from colbench.registry import get_domain
from colbench_agents.model import ModelAgent
from colbench_agents.vllm_server import STARTUP_TIMEOUT, VLLMServer, shared_server

SINGLE_PROCESS = (
    "vllm: each process of the run would start its own server; start a server yourself (`vllm serve "
    "MODEL`) and use openai:MODEL@URL, or use one process and the executor local"
)
"""The reason why a run with this agent or human must use only one process; an error message contains it."""


class _Running:
    """A server and its client, started and stopped together."""

    def __init__(self, server: VLLMServer, client: AbstractAsyncContextManager[Any]) -> None:
        self._server = server
        self._client = client
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> None:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._server)
            await stack.enter_async_context(self._client)
            self._stack = stack.pop_all()

    async def __aexit__(self, *error: Any) -> None:
        await self._stack.__aexit__(*error)


class VLLMAgent:
    """A model on a vLLM server that lives as long as the run: `vllm:MODEL_OR_PATH`.

    `port` is the server's port (0: any free port), `startup_timeout` the time limit of its start in seconds, and `log`
    the file for its output. `extra_body` is a JSON object with further fields of each request. The other named
    arguments are those of `openai:`. All further arguments become flags of `vllm serve` (see VLLMServer).

    Requests carry a seed. The CPU build of vLLM 0.32 fails if it reads the prompt of such a request in chunks; for that
    build, set `enable_chunked_prefill=false`, and `max_num_batched_tokens` to the value of `max_model_len`.
    """

    records_tokens = True
    single_process = SINGLE_PROCESS

    def __init__(
        self,
        model: str,
        *,
        prompt: str | None = None,
        single_turn: bool = False,
        pictures: bool = False,
        temperature: Temperature = 1.0,
        max_tokens: Positive | None = None,
        max_image_edge: Positive = MAX_EDGE,
        concurrency: Positive = 256,
        timeout: Seconds = 600.0,
        retries: NotNegative = 6,
        client: Client = "aiohttp",
        extra_body: str = "{}",
        port: NotNegative = 0,
        startup_timeout: Seconds = STARTUP_TIMEOUT,
        log: str | None = None,
        **engine_args: ArgValue,
    ) -> None:
        server = shared_server(
            model, port=port, startup_timeout=startup_timeout, log=log, **engine_args
        )
        self.agent = ModelAgent(
            f"{server.model}@{server.base_url}",
            prompt=prompt,
            single_turn=single_turn,
            pictures=pictures,
            temperature=temperature,
            max_tokens=max_tokens,
            max_image_edge=max_image_edge,
            concurrency=concurrency,
            timeout=timeout,
            retries=retries,
            client=client,
            extra_body=extra_body,
        )
        self.agent.chat.require_server = server.require_running
        self._running = _Running(server, self.agent)

    async def __aenter__(self) -> VLLMAgent:
        await self._running.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._running.__aexit__(*error)

    def describe(self) -> dict[str, str]:
        """Return the agent's entry in the record of the run."""
        return self.agent.describe()

    def describe_domain(self, name: str) -> dict[str, str]:
        """Return the agent's additional entries for the domain `name` in the record of the run."""
        return self.agent.describe_domain(name)

    def learned(self) -> list[str]:
        """Return the properties of the model and its server that were found during the run."""
        return self.agent.learned()

    def open(self, episode: Episode) -> AbstractAsyncContextManager[Agent]:
        """Open the agent of one dialogue."""
        return self.agent.open(episode)


class VLLMHuman(PromptedHuman):
    """The human `vllm:MODEL_OR_PATH`.

    PromptedHuman explains `prompt`, `temperature`, `max_tokens` and `max_chars`; VLLMAgent explains the other
    arguments.
    """

    single_process = SINGLE_PROCESS

    def __init__(
        self,
        model: str,
        *,
        prompt: str | None = None,
        temperature: Temperature = 0.0,
        max_tokens: Positive | None = None,
        max_chars: Positive | None = None,
        max_image_edge: Positive = MAX_EDGE,
        concurrency: Positive = 256,
        timeout: Seconds = 600.0,
        retries: NotNegative = 6,
        client: Client = "aiohttp",
        extra_body: str = "{}",
        port: NotNegative = 0,
        startup_timeout: Seconds = STARTUP_TIMEOUT,
        log: str | None = None,
        **engine_args: ArgValue,
    ) -> None:
        server = shared_server(
            model, port=port, startup_timeout=startup_timeout, log=log, **engine_args
        )
        self.chat = OpenAIChat(
            f"{server.model}@{server.base_url}",
            max_image_edge=max_image_edge,
            concurrency=concurrency,
            timeout=timeout,
            retries=retries,
            client=client,
            extra_body=extra_body,
        )
        self.chat.require_server = server.require_running
        self._running = _Running(server, self.chat)
        super().__init__(
            self.chat,
            prompt=prompt,
            temperature=temperature,
            max_tokens=max_tokens,
            max_chars=max_chars,
        )

    async def __aenter__(self) -> VLLMHuman:
        await self._running.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._running.__aexit__(*error)

    def describe(self) -> dict[str, str]:
        """Return the human's entry in the record of the run."""
        return {"model": self.chat.model}

    def describe_domain(self, name: str) -> dict[str, str]:
        """Return the human's additional entries for the domain `name` in the record of the run."""
        own = super().describe_domain(name)
        edge = {"max_image_edge": str(self.chat.max_image_edge)}
        return own | edge if get_domain(name).pictured else own

    def learned(self) -> list[str]:
        """Return the properties of the model and its server that were found during the run."""
        return self.chat.learned()
