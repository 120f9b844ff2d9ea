"""The two ways to send a request: the official `openai` package, and aiohttp, which costs a tenth of the CPU time.

Both return the raw response of the server, whatever its status, and raise the same errors (see `Transport`). Limits,
retries and reading are in the layer above (`colbench.models.openai_chat`), so they are the same for both.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol
from urllib.request import getproxies

from msgspec import Struct, json

from colbench.errors import UserError
from colbench.models.address import read_key

if TYPE_CHECKING:
    import openai

Client = Literal["openai", "aiohttp"]
CONNECT_TIMEOUT = 15.0
"""Time limit in seconds for making a connection, including the DNS lookup."""
CONNECT_SHARE = 0.75
"""Maximum share of a request's time limit that connecting may take.

The limit for connecting is therefore reached first, which distinguishes an absent server from a busy one.
"""
MAX_BODY = 64 * 2**20
"""Maximum size of a response in bytes; reading of a longer one is aborted."""
NOT_CONNECTED = {"ConnectError", "ConnectTimeout", "ProxyError", "UnsupportedProtocol"}
"""Names of httpx errors that occur before a request is sent."""


class Answer(Struct, frozen=True):
    """The answer of a server."""

    status: int
    headers: Mapping[str, str]
    """The response's headers, with lower-case names."""
    content: bytes


class UnreachableError(ConnectionError):
    """No connection could be made: the request was not sent."""


class BrokenError(Exception):
    """The connection broke, or the answer ended early or was too long."""


class Transport(Protocol):
    """A way to send requests to one server.

    `post` and `get` raise UnreachableError, BrokenError or, if the answer takes too long, TimeoutError. If the URL is
    malformed, UserError is raised by these methods or when the transport is created.
    """

    async def post(self, path: str, body: dict[str, Any]) -> Answer:
        """Send a request with a JSON body."""
        ...

    async def get(self, path: str) -> Answer:
        """Send a request without a body."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class AiohttpTransport:
    """The transport through aiohttp, fast enough for thousands of short calls per second to the user's own server."""

    def __init__(self, base_url: str, key: str | None, timeout: float) -> None:
        import aiohttp

        self._base_url = base_url
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60),
            timeout=aiohttp.ClientTimeout(total=timeout, connect=_connect_timeout(timeout)),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Authorization": f"Bearer {key}"} if key else {},
            trust_env=bool(getproxies()),  # looking up a proxy costs more than the request
        )

    async def post(self, path: str, body: dict[str, Any]) -> Answer:
        """Send a request with a JSON body."""
        return await self._request("POST", path, json.encode(body))

    async def get(self, path: str) -> Answer:
        """Send a request without a body."""
        return await self._request("GET", path, None)

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def _request(self, method: str, path: str, data: bytes | None) -> Answer:
        import aiohttp

        headers = {"Content-Type": "application/json"} if data else {}
        url = self._base_url + path
        try:
            async with self._session.request(
                method, url, data=data, headers=headers, allow_redirects=False
            ) as response:
                content = await _bounded(response.content.iter_any())
                lower = {name.lower(): value for name, value in response.headers.items()}
                return Answer(response.status, lower, content)
        except aiohttp.InvalidURL as cause:
            raise _no_address(url) from cause
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as cause:
            os_error = getattr(cause, "os_error", None)
            raise UnreachableError(f"cannot connect: {_reason(os_error or cause)}") from cause
        except aiohttp.ClientError as cause:
            raise BrokenError(f"{type(cause).__name__}: {cause}") from cause


class OpenAITransport:
    """The transport through the official package, which reads settings such as proxies from the environment.

    The package's own retries are turned off. Without a key, requests have no `Authorization` header. The only paths are
    `/chat/completions` for `post` and `/models` for `get`.
    """

    def __init__(self, client: openai.AsyncOpenAI, timeout: float, *, has_key: bool = True) -> None:
        import openai

        self._client = client
        self._timeout = timeout
        self._headers: Any = {} if has_key else {"Authorization": openai.Omit()}

    async def post(self, path: str, body: dict[str, Any]) -> Answer:
        """Send a request with a JSON body."""
        if path != "/chat/completions":
            raise ValueError(path)
        # `extra_body` is sent unchanged. The package would copy the content of `messages` key by key, which takes a
        # third of the CPU time of a call.
        completions = self._client.chat.completions.with_streaming_response
        return await self._send(
            lambda: completions.create(
                model=body["model"], messages=[], extra_body=body, extra_headers=self._headers
            )
        )

    async def get(self, path: str) -> Answer:
        """Send a request without a body."""
        if path != "/models":
            raise ValueError(path)
        models = self._client.models.with_streaming_response
        return await self._send(lambda: models.list(extra_headers=self._headers))

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def _send(self, request: Any) -> Answer:
        import openai

        try:
            async with asyncio.timeout(self._timeout), request() as response:
                content = await _bounded(response.iter_bytes())
                return Answer(response.status_code, _lower(response.headers), content)
        except openai.APIStatusError as refusal:
            answer = refusal.response
            return Answer(answer.status_code, _lower(answer.headers), answer.content)
        except openai.APITimeoutError as cause:
            if type(cause.__cause__).__name__ in NOT_CONNECTED:
                raise UnreachableError("cannot connect: no answer in time") from cause
            raise TimeoutError from cause
        except openai.APIConnectionError as cause:
            error = cause.__cause__ or cause
            if type(error).__name__ in NOT_CONNECTED:
                raise UnreachableError(f"cannot connect: {_reason(error)}") from cause
            raise BrokenError(f"{type(error).__name__}: {error}") from cause
        except openai.OpenAIError as cause:
            raise BrokenError(f"{type(cause).__name__}: {cause}") from cause
        except Exception as cause:
            if type(cause).__module__.startswith("httpx"):
                raise BrokenError(f"{type(cause).__name__}: {cause}") from cause
            raise


def openai_transport(base_url: str, key: str | None, timeout: float) -> OpenAITransport:
    """Return the transport to a server that speaks OpenAI's protocol. Raises UserError if the URL is malformed."""
    import openai

    limits = openai.Timeout(timeout, connect=_connect_timeout(timeout))
    try:
        client = openai.AsyncOpenAI(
            base_url=base_url,
            api_key=key or "none",
            max_retries=0,
            timeout=limits,
            http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False, timeout=limits),
        )
    except Exception as cause:
        if "URL" in type(cause).__name__:
            raise _no_address(base_url) from cause
        raise
    return OpenAITransport(client, timeout, has_key=key is not None)


def azure_transport(endpoint: str, key: str | None, timeout: float) -> OpenAITransport:
    """Return the transport to Azure OpenAI. The API version and the token are read from environment variables.

    Raises UserError, which names the variable, if one of these is missing: the endpoint (AZURE_OPENAI_ENDPOINT), the
    API version (OPENAI_API_VERSION), or both the key (AZURE_OPENAI_API_KEY) and the token (AZURE_OPENAI_AD_TOKEN).
    """
    import openai

    if not endpoint:
        raise UserError(
            "azure: the server is missing; write azure:DEPLOYMENT@https://NAME.openai.azure.com, "
            "or set the environment "
            "variable AZURE_OPENAI_ENDPOINT"
        )
    limits = openai.Timeout(timeout, connect=_connect_timeout(timeout))
    try:
        client = openai.AsyncAzureOpenAI(
            azure_endpoint=endpoint,
            api_key=key,
            azure_ad_token=None if key else read_key("AZURE_OPENAI_AD_TOKEN"),
            max_retries=0,
            timeout=limits,
            http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False, timeout=limits),
        )
    except (openai.OpenAIError, ValueError) as cause:
        raise UserError(f"azure: {cause}") from cause
    return OpenAITransport(client, timeout)


async def _bounded(chunks: AsyncIterator[bytes]) -> bytes:
    content = bytearray()
    async for chunk in chunks:
        content += chunk
        if len(content) > MAX_BODY:
            raise BrokenError(f"the response has more than {MAX_BODY:,} bytes")
    return bytes(content)


def _connect_timeout(timeout: float) -> float:
    return min(CONNECT_TIMEOUT, CONNECT_SHARE * timeout)


def _lower(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _reason(error: BaseException) -> str:
    """Return the operating system's message for an error, taken from its chain of causes if needed."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return str(error) or type(error).__name__


def _no_address(url: str) -> UserError:
    return UserError(f"`{url}` is not a URL; write http://host:port/v1")
