"""The agent behind `http://host:port`: a server in any language that speaks JSON over HTTP (docs/agent-protocol.md)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    suppress,
)
from functools import partial
from urllib.parse import urlsplit

from colbench.agent_process.outside import OutsideAgent
from colbench.agent_process.protocol import (
    Ready,
    as_message,
    encode,
    messages,
    read_answer,
    read_ready,
    start,
)
from colbench.clock import seconds_left, waiting
from colbench.errors import AgentError, EndpointError, UserError
from colbench.interfaces import Agent, Episode, Rule
from colbench.messages import Message, NotNegative
from colbench.models.address import api_key_for, require_no_password
from colbench.plugin_arguments import Seconds
from colbench_agents.http_client import Client, connected, path_of

END_TIMEOUT = 10.0
"""Time limit in seconds of the request that ends a dialogue."""


class HTTPAgent(OutsideAgent):
    """The agent at a URL such as `http://host:port/path`; requests go to `http://host:port/path/v1/…`.

    `timeout` is the time limit in seconds of a request. Requests for replies have the dialogue's time limit instead.
    The request that ends a dialogue has at most 10 seconds, and is never repeated. `retries` is the number of times
    that any other request is repeated if the agent was not reached or is overloaded. With `api_key_env`, requests carry
    the key from that environment variable as a bearer token. Raises UserError if the URL is invalid or contains a
    password, or if the variable contains no key.
    """

    scheme = "http"

    def __init__(
        self,
        address: str,
        *,
        timeout: Seconds = 60.0,
        retries: NotNegative = 4,
        api_key_env: str | None = None,
    ) -> None:
        self.spec = self.base_url = f"{self.scheme}:{address}".rstrip("/")
        self.timeout = timeout
        self.retries = retries
        _check(self.base_url)
        self._key = api_key_for(self.base_url, api_key_env)
        self._client: Client | None = None
        self._running = AsyncExitStack()
        self._alone = asyncio.Lock()

    async def introduce(self) -> Ready:
        """Request the agent's description."""
        async with self._connect() as client:
            return read_ready(await client.request("GET", "/v1/agent"))

    @property
    def single_process(self) -> str:
        """The reason why a run must use a single process; "" if the run may use several.

        The reason is the one that the agent gives, or else that the agent can have only one dialogue at a time.
        """
        alone = "" if self.ready.concurrent else "the agent can have only one dialogue at a time"
        return self.ready.single_process or alone

    def conformance_rules(self, patience: float) -> Sequence[Rule]:
        """Return the rules of the protocol."""
        from colbench_agents.conformance.http import HTTPRules

        connect = partial(self._connect, min(self.timeout, patience))
        return HTTPRules(connect, patience=patience).rules()

    async def __aenter__(self) -> HTTPAgent:
        self._client = await self._running.enter_async_context(self._connect())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._running.aclose()

    @asynccontextmanager
    async def open(self, episode: Episode) -> AsyncIterator[Agent]:
        """Yield the agent of one dialogue; only one dialogue is open at a time unless the agent supports several."""
        if self._client is None:
            raise RuntimeError("HTTPAgent must be used inside `async with`")
        client = self._client
        async with AsyncExitStack() as stack:
            if not self.ready.concurrent:
                with waiting():
                    await stack.enter_async_context(self._alone)
            await client.request("POST", "/v1/episodes", encode(start(episode)))
            try:
                yield _Conversation(client, episode.id, accepts_images=self.accepts_images)
            finally:
                with suppress(AgentError, EndpointError, TimeoutError):  # the dialogue still counts
                    async with asyncio.timeout(END_TIMEOUT):
                        await client.request("DELETE", path_of(episode.id), tries=1)

    def _connect(self, timeout: float | None = None) -> AbstractAsyncContextManager[Client]:
        return connected(
            self.base_url, key=self._key, timeout=timeout or self.timeout, retries=self.retries
        )


class HTTPSAgent(HTTPAgent):
    """An agent at `https://host:port`: like HTTPAgent, but encrypted."""

    scheme = "https"


class _Conversation:
    def __init__(self, client: Client, episode: str, *, accepts_images: bool) -> None:
        self.accepts_images = accepts_images
        self._client = client
        self._episode = episode

    async def reply(self, dialogue: Sequence[Message]) -> Message:
        body = encode(messages(self._episode, dialogue, seconds_left()))
        said = await self._client.request(
            "POST", f"{path_of(self._episode)}/reply", body, patient=True
        )
        answer = read_answer(said)
        if answer.episode != self._episode:
            raise AgentError(
                f"its reply names episode {answer.episode!r}, but the request was for episode {self._episode!r}",
                kind="malformed",
            )
        return as_message(answer)


def _check(url: str) -> None:
    require_no_password(url, "--agent")
    try:
        parts = urlsplit(url)
        well = bool(parts.hostname) and not (parts.query or parts.fragment)
        _ = parts.port
    except ValueError:
        well = False
    if not well:
        raise UserError(
            f"--agent {url}: not the URL of a server; write http://host:port or http://host:port/path, without ? and #"
        )
