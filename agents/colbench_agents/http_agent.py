"""The agent behind `http://host:port`: a server in any language that speaks JSON over HTTP (docs/agent-protocol.md).

Who is to blame: an agent that cannot be reached, or says that it is overloaded, leaves its dialogue unscored, to be had
again; an agent that was reached and then says nothing, something else or that it failed has failed.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from colbench.errors import AgentError, EndpointError, UserError
from colbench.interfaces import Agent, Episode
from colbench.messages import Message
from colbench.models.openai_chat import api_key_for
from colbench_agents.outside import OutsideAgent
from colbench_agents.protocol import (
    MAX_LINE,
    SHOWN,
    Ready,
    ToAgent,
    as_message,
    encode,
    messages,
    read_answer,
    read_ready,
    start,
)

if TYPE_CHECKING:
    import aiohttp

NOT_NOW = {429, 502, 503, 504}
"""An overloaded agent, or a gateway that does not reach it."""
KEY_REFUSED = {401, 403}
DONE = {200, 201, 202, 204}
CONNECT_TIMEOUT = 30.0
LONGEST_WAIT = 30.0
CHUNK = 65536


class HTTPAgent(OutsideAgent):
    """`http://host:port`, and a path before `/v1/…` if it has one.

    `timeout` is the seconds that it may take for a request that is not for a reply; for replies it has the time of the
    dialogue. `retries` is how often a request is sent again that did not reach it or that it has no room for.
    With `api_key_env` requests carry the key in that environment variable as their bearer token.
    Raises UserError when the address is none.
    """

    scheme = "http"

    def __init__(
        self,
        address: str,
        *,
        timeout: float = 60.0,
        retries: int = 4,
        api_key_env: str | None = None,
    ) -> None:
        self.spec = self.base_url = f"{self.scheme}:{address}".rstrip("/")
        self.timeout = timeout
        self.retries = retries
        _check(self.base_url)
        self._key = api_key_for(self.base_url, api_key_env)
        self._client: _Client | None = None
        self._running = AsyncExitStack()
        self._alone = asyncio.Lock()

    async def introduce(self) -> Ready:
        """Ask it."""
        async with self._connect() as client:
            return read_ready(await client.request("GET", "/v1/agent"))

    async def __aenter__(self) -> HTTPAgent:
        self._client = await self._running.enter_async_context(self._connect())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._running.aclose()

    @asynccontextmanager
    async def open(self, episode: Episode) -> AsyncIterator[Agent]:
        """The agent of one dialogue; one at a time, unless it says that it has several."""
        if self._client is None:
            raise RuntimeError("HTTPAgent is used outside `async with`")
        client = self._client
        async with AsyncExitStack() as stack:
            if not self.ready.concurrent:
                await stack.enter_async_context(self._alone)
            await client.request("POST", "/v1/episodes", start(episode))
            try:
                yield _Conversation(client, episode.id, accepts_images=self.accepts_images)
            finally:
                with suppress(
                    AgentError, EndpointError
                ):  # what was said counts, whatever this does
                    await client.request("DELETE", _path(episode.id), tries=1)

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[_Client]:
        import aiohttp

        # A connection for each request: one that is kept may be gone without the agent's doing when it is used again.
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, force_close=True),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
        ) as session:
            yield _Client(self.base_url, session, self.timeout, self.retries)


class HTTPSAgent(HTTPAgent):
    """`https://host:port`: the same, encrypted."""

    scheme = "https"


class _Conversation:
    def __init__(self, client: _Client, episode: str, *, accepts_images: bool) -> None:
        self.accepts_images = accepts_images
        self._client = client
        self._episode = episode

    async def reply(self, dialogue: Sequence[Message]) -> Message:
        body = messages(self._episode, dialogue)
        said = await self._client.request(
            "POST", f"{_path(self._episode)}/reply", body, patient=True
        )
        answer = read_answer(said)
        if answer.episode != self._episode:
            raise AgentError(f"it replied to {answer.episode!r}, where {self._episode} was asked")
        return as_message(answer)


class _NotNowError(Exception):
    def __init__(self, reason: str, wait: str | None = None) -> None:
        super().__init__(reason)
        self.wait = min(float(wait), LONGEST_WAIT) if wait and wait.isdecimal() else 0.0


class _Client:
    def __init__(
        self, base_url: str, session: aiohttp.ClientSession, timeout: float, retries: int
    ) -> None:
        self.base_url = base_url
        self.session = session
        self.timeout = timeout
        self.retries = retries

    async def request(
        self,
        method: str,
        path: str,
        message: ToAgent | None = None,
        *,
        patient: bool = False,
        tries: int | None = None,
    ) -> bytes:
        """The body of the answer; where it is `patient`, whoever asks says how long to wait.

        Raises EndpointError when it is not reached after all tries, AgentError when its answer is none,
        UserError when it refuses the key.
        """
        tries = tries or self.retries + 1
        for attempt in range(1, tries + 1):
            try:
                return await self._once(method, path, message, patient=patient)
            except _NotNowError as again:
                if attempt == tries:
                    times = "once" if tries == 1 else f"{tries} times"
                    raise EndpointError(
                        f"{self.base_url}{path}: tried {times}, last: {again}"
                    ) from again
                await asyncio.sleep(max(again.wait, random.uniform(0, 0.25 * 2**attempt)))  # noqa: S311
        raise AssertionError("unreachable: the last try raises")

    async def _once(
        self, method: str, path: str, message: ToAgent | None, *, patient: bool
    ) -> bytes:
        import aiohttp

        limit = aiohttp.ClientTimeout(
            total=None if patient else self.timeout, sock_connect=CONNECT_TIMEOUT
        )
        try:
            async with self.session.request(
                method,
                self.base_url + path,
                data=encode(message) if message else None,
                headers={"Content-Type": "application/json"} if message else {},
                timeout=limit,
                allow_redirects=False,
            ) as response:
                content = await _bounded(response.content)
                if response.status not in DONE:
                    raise _refusal(
                        self.base_url + path,
                        response.status,
                        content,
                        response.headers.get("Retry-After"),
                    )
                return content
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as cause:
            raise _NotNowError(f"cannot connect: {_reason(cause)}") from cause
        except TimeoutError as cause:
            raise AgentError(f"it did not answer {path} within {self.timeout:g} s") from cause
        except aiohttp.ClientError as cause:
            raise AgentError(f"its answer broke off: {type(cause).__name__}: {cause}") from cause


async def _bounded(stream: aiohttp.StreamReader) -> bytes:
    content = bytearray()
    async for chunk in stream.iter_chunked(CHUNK):
        content += chunk
        if len(content) > MAX_LINE:
            raise AgentError(f"it sent a body of more than {MAX_LINE} bytes")
    return bytes(content)


def _refusal(url: str, status: int, content: bytes, wait: str | None) -> Exception:
    said = f"HTTP {status}: {content[:SHOWN].decode('utf-8', 'replace').strip()}"
    if status in NOT_NOW:
        return _NotNowError(said, wait)
    if status in KEY_REFUSED:
        return UserError(
            f"{url} refuses the key; name its variable by --agent-arg api_key_env=NAME ({said})"
        )
    return AgentError(f"it answered with {said}")


def _reason(error: Exception) -> str:
    cause = getattr(error, "os_error", None) or error
    if isinstance(cause, ConnectionError) and cause.errno:
        return os.strerror(cause.errno)
    return getattr(cause, "strerror", None) or str(error)


def _path(episode: str) -> str:
    return f"/v1/episodes/{quote(episode, safe='')}"


def _check(url: str) -> None:
    try:
        parts = urlsplit(url)
        well = bool(parts.hostname) and not (parts.query or parts.fragment)
        _ = parts.port
    except ValueError:
        well = False
    if not well:
        raise UserError(f"--agent {url}: is no address; write http://host:port")
