"""Requests to an agent over HTTP, and who is to blame when one of them fails.

An agent that cannot be reached, or says that it is overloaded, leaves its dialogue unscored, to be had again; an agent
that was reached and then says nothing, something else or that it failed has failed.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote

from colbench.errors import AgentError, EndpointError, UserError
from colbench_agents.protocol import MAX_LINE, SHOWN

if TYPE_CHECKING:
    import aiohttp

NOT_NOW = {429, 502, 503, 504}
"""An overloaded agent, or a gateway that does not reach it."""
KEY_REFUSED = {401, 403}
DONE = {200, 201, 202, 204}
CONNECT_TIMEOUT = 30.0
LONGEST_WAIT = 30.0
CHUNK = 65536


@asynccontextmanager
async def connected(
    base_url: str,
    *,
    key: str | None,
    timeout: float,  # noqa: ASYNC109 - of each request
    retries: int,
) -> AsyncIterator[Client]:
    """A client with a connection for each request: one that is kept may be gone without the agent's doing."""
    import aiohttp

    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, force_close=True),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"Authorization": f"Bearer {key}"} if key else {},
    ) as session:
        yield Client(base_url, session, timeout, retries)


class _NotNowError(Exception):
    def __init__(self, reason: str, wait: str | None = None) -> None:
        super().__init__(reason)
        self.wait = min(float(wait), LONGEST_WAIT) if wait and wait.isdecimal() else 0.0


class Client:
    """Sends requests to the server at `base_url`; `timeout` is the seconds for one, `retries` as for the agent."""

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
        body: bytes | None = None,
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
                return await self._once(method, path, body, patient=patient)
            except _NotNowError as again:
                if attempt == tries:
                    times = "once" if tries == 1 else f"{tries} times"
                    raise EndpointError(
                        f"{self.base_url}{path}: tried {times}, last: {again}"
                    ) from again
                await asyncio.sleep(max(again.wait, random.uniform(0, 0.25 * 2**attempt)))  # noqa: S311
        raise AssertionError("unreachable: the last try raises")

    async def _once(self, method: str, path: str, body: bytes | None, *, patient: bool) -> bytes:
        import aiohttp

        limit = aiohttp.ClientTimeout(
            total=None if patient else self.timeout, sock_connect=CONNECT_TIMEOUT
        )
        try:
            async with self.session.request(
                method,
                self.base_url + path,
                data=body,
                headers={"Content-Type": "application/json"} if body else {},
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
    body = content[:SHOWN].decode("utf-8", "replace").strip()
    said = f"HTTP {status}: {body}" if body else f"HTTP {status}"
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


def path_of(episode: str) -> str:
    """Where a dialogue is."""
    return f"/v1/episodes/{quote(episode, safe='')}"
