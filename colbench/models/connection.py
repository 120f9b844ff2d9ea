"""The connection of one chat client to one model server: opened, checked, closed."""

from __future__ import annotations

import asyncio
import time
from fnmatch import fnmatchcase

from colbench.errors import UserError
from colbench.models.refusals import NOT_NOW, backoff, mistake, retry_after, words
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
"""Number of attempts until a server counts as absent."""
LOOK_TIMEOUT = 20.0
"""Time limit in seconds for an answer to GET /models."""
REFUSED = {400, 401, 403}
"""Status codes with which servers refuse a key; LiteLLM's proxy without a database returns 400."""
LISTED_MODELS = 20
AZURE = "azure"


class Connection:
    """A server as used by one client. `url` is empty for the endpoint in AZURE_OPENAI_ENDPOINT."""

    def __init__(self, url: str, key: str | None, *, client: Client, azure: bool) -> None:
        self.url = url
        self.has_answered = False
        """True after this client's first answered request; the server may have answered others before."""
        self._key = key
        self._client = client
        self._azure = azure
        self._transport: Transport | None = None
        self._server: Server | None = None

    @property
    def transport(self) -> Transport:
        """The transport. Raises RuntimeError if the connection is not open."""
        if self._transport is None:
            raise RuntimeError("OpenAIChat must be used inside `async with`")
        return self._transport

    @property
    def server(self) -> Server:
        """The server's limit and health, shared with others. Raises RuntimeError if the connection is not open."""
        if self._server is None:
            raise RuntimeError("OpenAIChat must be used inside `async with`")
        return self._server

    def open(self, *, timeout: float, concurrency: int) -> None:
        """Make the transport; nothing is sent."""
        self._transport = self._make(self.url, timeout)
        self._server = current_servers().join(self.url or AZURE, concurrency)

    async def close(self) -> None:
        """Close the transport."""
        if self._server:
            current_servers().leave(self._server)
        if self._transport:
            await self._transport.close()
        self._server = self._transport = None

    async def check(self, model: str) -> None:
        """Raise UserError unless the server can be reached, accepts the key and, if it lists models, has this one.

        If the server lists no models, the model is not checked. Listed names may be patterns such as `openai/*`, as
        proxies use.
        """
        if self._azure:
            return
        answer = await self._listing()
        if answer.status in REFUSED:
            raise mistake(f"{self.url}/models", answer)
        if answer.status in {404, 405} and not self.url.endswith("/v1"):
            await self._look_for_v1(model)
        names = listed_models(answer.content) if answer.status == 200 else []
        if names and not any(model == name or fnmatchcase(model, name) for name in names):
            shown = ", ".join(names[:LISTED_MODELS]) + (" …" if len(names) > LISTED_MODELS else "")
            raise UserError(f"{self.url} has no model `{model}`; it has: {shown}")

    async def probe(self) -> None:
        """Raise ConnectionError unless the server sends any response."""
        await _look(self.transport)

    async def _listing(self) -> Answer:
        """Return the response to GET /models.

        Wait for a server that is still loading, but not for one that is absent.
        """
        start, tries = time.monotonic(), 0
        while True:
            tries += 1
            try:
                answer = await _look(self.transport)
            except ConnectionError as cause:
                if tries == TRIES:
                    raise UserError(
                        f"no model server answers at {self.url} (tried {tries} times): {cause}"
                    ) from cause
                await asyncio.sleep(backoff(tries))
                continue
            if answer.status not in NOT_NOW or time.monotonic() - start > self.server.patience:
                return answer
            with self.server.backing_off(words(answer)):
                await asyncio.sleep(backoff(tries, retry_after(answer.headers)))

    async def _look_for_v1(self, model: str) -> None:
        """Raise UserError if the server's API is under /v1 but the URL lacks it."""
        url = f"{self.url}/v1"
        other = self._make(url, LOOK_TIMEOUT)
        try:
            answer = await _look(other)
        except ConnectionError:
            return
        finally:
            await other.close()
        if answer.status == 200 and listed_models(answer.content):
            raise UserError(f"{self.url} is not the API; the API is under /v1: write {model}@{url}")

    def _make(self, url: str, timeout: float) -> Transport:
        if self._azure:
            return azure_transport(url or None, self._key, timeout)
        if self._client == "aiohttp":
            return AiohttpTransport(url, self._key, timeout)
        return openai_transport(url, self._key, timeout)


async def _look(transport: Transport) -> Answer:
    """Return the response to GET /models. Raises ConnectionError if there is none."""
    try:
        async with asyncio.timeout(LOOK_TIMEOUT):
            return await transport.get("/models")
    except UnreachableError:
        raise
    except TimeoutError as cause:
        raise ConnectionError(f"no answer within {LOOK_TIMEOUT:g} s") from cause
    except BrokenError as cause:
        raise ConnectionError(str(cause)) from cause
