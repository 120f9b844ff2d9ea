"""Requests to an agent over HTTP, and the decision whether the agent or the infrastructure made a request fail.

If an agent cannot be reached or reports overload, the dialogue stays unscored, and a resumed run repeats it. If an
agent is reached, but does not answer, sends an invalid response or reports a failure, the agent has failed, and its
dialogue scores 0.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING
from urllib.parse import quote

from colbench.agent_process.protocol import MAX_LINE, SHOWN
from colbench.clock import waiting
from colbench.errors import AgentError, EndpointError, Kind, UserError

if TYPE_CHECKING:
    import aiohttp

NOT_NOW = {429, 502, 503, 504}
"""Status codes of an overloaded agent, or of a gateway that cannot reach the agent."""
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
    """Yield a client that makes a new connection for each request.

    Connections are not reused, because a reused connection can break through no fault of the agent.
    """
    import aiohttp

    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, force_close=True),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"Authorization": f"Bearer {key}"} if key else {},
        trace_configs=[_standing_while_connecting()],
    ) as session:
        yield Client(base_url, session, timeout, retries)


def _standing_while_connecting() -> aiohttp.TraceConfig:
    """Return callbacks that pause a dialogue's clock while a connection is established."""
    import aiohttp

    async def start(_session: object, trace: SimpleNamespace, _: object) -> None:
        trace.connecting = ExitStack()
        trace.connecting.enter_context(waiting())

    async def end(_session: object, trace: SimpleNamespace, _: object) -> None:
        if hasattr(trace, "connecting"):
            trace.connecting.close()

    callbacks = aiohttp.TraceConfig()
    callbacks.on_connection_create_start.append(start)
    callbacks.on_connection_create_end.append(end)
    callbacks.on_request_exception.append(end)
    return callbacks


class _NotNowError(Exception):
    def __init__(self, reason: str, kind: Kind, wait: str | None = None) -> None:
        super().__init__(reason)
        self.kind = kind
        self.wait = min(float(wait), LONGEST_WAIT) if wait and wait.isdecimal() else 0.0


class Client:
    """A client of the server at `base_url`. `timeout`: seconds for one request. `retries`: as in HTTPAgent."""

    def __init__(
        self, base_url: str, session: aiohttp.ClientSession, timeout: float, retries: int
    ) -> None:
        self.base_url = base_url
        self.session = session
        self.timeout = timeout
        self.retries = retries
        self.answered = False
        """True once the server has accepted a request; a key that is refused after that is not the user's mistake."""

    async def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        patient: bool = False,
        tries: int | None = None,
    ) -> bytes:
        """Return the body of the response.

        A `patient` request has no time limit here: the caller sets the limit. `tries`: the maximum number of tries
        (default: one more than `retries`).

        The time for connecting and between tries does not count as the agent's time. Raises EndpointError if every try
        fails because the server cannot be reached or is overloaded, or if the server refuses a key that it accepted
        before. Raises UserError if the server refuses the key from the start, and AgentError if the response is late,
        malformed or an error.
        """
        tries = tries or self.retries + 1
        for attempt in range(1, tries + 1):
            try:
                return await self._once(method, path, body, patient=patient)
            except _NotNowError as again:
                if attempt == tries:
                    times = "once" if tries == 1 else f"{tries} times"
                    raise EndpointError(
                        f"{self.base_url}{path}: tried {times}; last error: {again}",
                        kind=again.kind,
                    ) from again
                with waiting():
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
                    again = response.headers.get("Retry-After")
                    raise self._refusal(path, response.status, content, again)
                self.answered = True
                return content
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as cause:
            raise _NotNowError(f"cannot connect: {_reason(cause)}", "connection") from cause
        except TimeoutError as cause:
            raise AgentError(
                f"it did not respond to {path} within {self.timeout:g} s", kind="timeout"
            ) from cause
        except aiohttp.ClientError as cause:
            raise AgentError(
                f"its response was cut off or is not HTTP: {type(cause).__name__}: {cause}",
                kind="connection",
            ) from cause

    def _refusal(self, path: str, status: int, content: bytes, wait: str | None) -> Exception:
        body = content[:SHOWN].decode("utf-8", "replace").strip()
        said = f"HTTP {status}: {body}" if body else f"HTTP {status}"
        if status in NOT_NOW:
            return _NotNowError(said, "overload", wait)
        if status not in KEY_REFUSED:
            return AgentError(
                f"it responded with {said}", kind="exception" if status >= 500 else "rejected"
            )
        if self.answered:
            return EndpointError(f"{self.base_url}{path}: {said}", kind="rejected")
        return UserError(
            f"{self.base_url}{path} rejects the API key, or needs one; pass --agent-arg api_key_env=NAME, "
            f"where NAME is the environment variable with the right key ({said})"
        )


async def _bounded(stream: aiohttp.StreamReader) -> bytes:
    content = bytearray()
    async for chunk in stream.iter_chunked(CHUNK):
        content += chunk
        if len(content) > MAX_LINE:
            raise AgentError(f"it sent a body of more than {MAX_LINE} bytes", kind="malformed")
    return bytes(content)


def _reason(error: Exception) -> str:
    cause = getattr(error, "os_error", None) or error
    if isinstance(cause, ConnectionError) and cause.errno:
        return os.strerror(cause.errno)
    return getattr(cause, "strerror", None) or str(error)


def path_of(episode: str) -> str:
    """Return the URL path of a dialogue."""
    return f"/v1/episodes/{quote(episode, safe='')}"
