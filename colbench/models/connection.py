"""The connection of one chat client to one model server: opened, checked, closed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatchcase

from colbench.errors import UserError
from colbench.models.refusals import NOT_NOW, backoff, retry_after, words
from colbench.models.reply import listed_models
from colbench.models.servers import Server, current_servers
from colbench.models.transports import (
    AiohttpTransport,
    Answer,
    BrokenError,
    Client,
    Transport,
    UnreachableError,
    azure_transport,
    openai_transport,
)

TRIES = 3
"""Number of consecutive unanswered attempts after which a server counts as absent."""
LOOK_TIMEOUT = 20.0
"""Time limit in seconds for an answer to GET /models; a lower `timeout` of the client takes precedence.

The limit for connecting is shorter. An absent server can therefore be distinguished from a busy one.
"""
LISTED_MODELS = 20


class BusyError(ConnectionError):
    """The server accepted the connection, but did not answer in time."""


class Connection:
    """A server as used by one client. `deployment` is the model on Azure; it is empty for other servers."""

    def __init__(self, url: str, key: str | None, *, client: Client, deployment: str) -> None:
        self.url = url
        self.has_answered = False
        """True after this client's first answered request; the server may have answered other clients earlier."""
        self._key = key
        self._client = client
        self._deployment = deployment
        self._look_timeout = LOOK_TIMEOUT
        self._transport: Transport | None = None
        self._server: Server | None = None

    @property
    def chat_url(self) -> str:
        """The URL to which requests for replies are sent."""
        path = f"/openai/deployments/{self._deployment}" if self._deployment else ""
        return f"{self.url}{path}/chat/completions"

    @property
    def transport(self) -> Transport:
        """The transport. Raises RuntimeError if the connection is not open."""
        if self._transport is None:
            raise RuntimeError("OpenAIChat must be used inside `async with`")
        return self._transport

    @property
    def server(self) -> Server:
        """The server's request limit and health, shared by its clients.

        Raises RuntimeError if the connection is not open.
        """
        if self._server is None:
            raise RuntimeError("OpenAIChat must be used inside `async with`")
        return self._server

    def open(self, *, timeout: float, concurrency: int) -> None:
        """Create the transport, and count this client as a user of the server; nothing is sent.

        Raises UserError if the URL is malformed or, on Azure, if a setting is missing.
        """
        self._transport = self._make(self.url, timeout)
        self._look_timeout = min(timeout, LOOK_TIMEOUT)
        self._server = current_servers().join(self.url, concurrency)

    async def close(self) -> None:
        """Close the transport, and stop counting this client as a user of the server."""
        if self._server:
            current_servers().leave(self._server)
        if self._transport:
            await self._transport.close()
        self._server = self._transport = None

    async def check(self, model: str) -> None:
        """Check the server and the model; on Azure, do nothing.

        Raises UserError if the server does not answer, if its API is under /v1 but the URL lacks /v1, or if the server
        lists its models and the model is not among them. If the server does not list its models, the model is not
        checked. A refused key is then not an error either, because the server may accept the key for other requests.
        """
        if self._deployment:
            return
        answer = await self._listing()
        if answer.status in {404, 405} and not self.url.endswith("/v1"):
            await self._look_for_v1()
        names = listed_models(answer.content) if answer.status == 200 else []
        if names and not _is_listed(model, names):
            shown = ", ".join(names[:LISTED_MODELS]) + (" …" if len(names) > LISTED_MODELS else "")
            raise UserError(f"{self.url} has no model `{model}`; it has: {shown}")

    async def probe(self) -> None:
        """Raise ConnectionError if the server sends no response; a response with any status is enough."""
        await self._look()

    async def _listing(self) -> Answer:
        """Return the response to GET /models.

        Wait for a server that is loading or busy, for about as long as the server's `patience`. Raises UserError if
        `TRIES` consecutive attempts get no answer, or if the server accepts connections but does not answer in time.
        """
        start, refused, absent = time.monotonic(), 0, 0
        while True:
            try:
                answer = await self._look_patiently()
            except ConnectionError as cause:
                absent += 1
                if absent >= TRIES:
                    raise UserError(
                        f"no model server answers at {self.url} (tried {absent} times): {cause}; "
                        "start the server, or correct the URL"
                    ) from cause
                await asyncio.sleep(backoff(absent))
                continue
            if answer.status not in NOT_NOW or time.monotonic() - start > self.server.patience:
                return answer
            refused, absent = refused + 1, 0
            with self.server.backing_off(words(answer)):
                pause = backoff(refused, retry_after(answer.headers))
                await asyncio.sleep(min(pause, self.server.patience))

    async def _look_patiently(self) -> Answer:
        """Return the response to GET /models; wait for a server that accepts connections but does not answer.

        Raises UserError if the wait exceeds the server's `patience`. Raises ConnectionError if the connection fails.
        """
        end = time.monotonic() + self.server.patience
        try:
            return await self._look()
        except BusyError as cause:
            reason = str(cause)
        with self.server.backing_off(reason):
            while time.monotonic() < end:
                with suppress(BusyError):
                    return await self._look()
        raise UserError(
            f"{self.url}: connected, but no answer within {self.server.patience:g} s "
            "(--endpoint-patience); if the server is busy, wait and repeat the command; otherwise, "
            "check the URL"
        )

    async def _look(self) -> Answer:
        return await _look(self.transport, self._look_timeout)

    async def _look_for_v1(self) -> None:
        """Raise UserError if the server's API is under /v1 but the URL lacks it."""
        url = f"{self.url}/v1"
        other = self._make(url, LOOK_TIMEOUT)
        try:
            answer = await _look(other, LOOK_TIMEOUT)
        except ConnectionError:
            return
        finally:
            await other.close()
        if answer.status == 200 and listed_models(answer.content):
            raise UserError(f"{self.url} is not the URL of the API; write {url}")

    def _make(self, url: str, timeout: float) -> Transport:
        if self._deployment:
            return azure_transport(url, self._key, timeout)
        if self._client == "aiohttp":
            return AiohttpTransport(url, self._key, timeout)
        return openai_transport(url, self._key, timeout)


def _is_listed(model: str, names: Sequence[str]) -> bool:
    """Return True if a server that lists these names has the model.

    A listed name may be a pattern such as `openai/*`, as proxies use. Ollama also accepts a name without `:latest`.
    Gemini accepts a name without `models/`, and OpenRouter accepts a name with a variant such as `:nitro`.
    """
    forms = {model, f"{model}:latest", f"models/{model}", model.partition(":")[0]}
    return not forms.isdisjoint(names) or any(fnmatchcase(model, name) for name in names)


async def _look(transport: Transport, limit: float) -> Answer:
    """Return the response to GET /models.

    Raises BusyError if no response comes within `limit` seconds. Raises another ConnectionError if the connection
    fails.
    """
    try:
        async with asyncio.timeout(limit):
            return await transport.get("/models")
    except UnreachableError:
        raise
    except TimeoutError as cause:
        raise BusyError(
            f"connected, but no answer within {limit:g} s; the server may be busy"
        ) from cause
    except BrokenError as cause:
        raise ConnectionError(str(cause)) from cause
