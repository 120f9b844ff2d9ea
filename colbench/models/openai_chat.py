"""The chat client: every server that speaks OpenAI's chat completions, vLLM first.

It speaks the protocol over aiohttp directly. The official client costs seventeen times the CPU a call
(`docs/benchmarks.md`), and one process has to keep hundreds of dialogues going.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from colbench.errors import EndpointError, UserError
from colbench.messages import Message, Sampled, Usage
from colbench.models.limits import AdaptiveLimit
from colbench.models.pictures import MAX_EDGE, data_url, fit_pictures

if TYPE_CHECKING:
    import aiohttp

OPENAI_URL = "https://api.openai.com/v1"
RETRIED = {408, 409, 425, 429, 500, 502, 503, 504, 529}
OVERLOAD = {429, 500, 502, 503, 504, 529}
PICTURES_REFUSED = {400, 413, 415, 422}
"""What servers say to pictures that they cannot or will not take."""
SCHEMA_REFUSED = {400, 415, 422, 501}
"""What servers say to `response_format` when they do not have it; they may mean something else."""
LONGEST_WAIT = 60.0
LISTED_MODELS = 20


class RequestRefusedError(Exception):
    """The server will never answer this request: the dialogue is longer than the model's context.

    Whoever asked is to blame, so this becomes the failure of the boundary at which it is caught.
    """


class SchemaRefusedError(Exception):
    """The server refuses a request with a schema for the reply; perhaps it does not have `response_format`."""


class _TryAgainError(Exception):
    def __init__(
        self, reason: str, retry_after: float | None = None, overload: bool = True
    ) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        self.overload = overload


class _Request(Struct, frozen=True):
    url: str
    body: bytes | None = None
    """None: a GET."""
    has_pictures: bool = False
    has_schema: bool = False


class _Said(Struct):
    content: str | None = None


class _Logprob(Struct):
    logprob: float


class _Logprobs(Struct):
    content: list[_Logprob] | None = None


class _Choice(Struct):
    message: _Said
    token_ids: tuple[int, ...] | None = None
    logprobs: _Logprobs | None = None


class _Counts(Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(Struct):
    choices: list[_Choice]
    usage: _Counts | None = None
    prompt_token_ids: tuple[int, ...] | None = None


_COMPLETION = msgspec.json.Decoder(_Completion)


def parse_spec(spec: str) -> tuple[str, str]:
    """Model name and base URL of `MODEL[@BASE_URL]`; without a URL, OPENAI_BASE_URL or OpenAI's own.

    Raises UserError when there is no model name or the URL is none.
    """
    model, _, url = spec.partition("@http")
    if not model:
        raise UserError(
            f"`{spec}` names no model; write MODEL@BASE_URL, as in gpt-4o or llama@http://host:8000/v1"
        )
    if not url:
        return model, os.environ.get("OPENAI_BASE_URL", OPENAI_URL).rstrip("/")
    return model, ("http" + url).rstrip("/")


def api_key_for(base_url: str, variable: str | None) -> str | None:
    """The key to send to a server: the named variable's, or OPENAI_API_KEY where it was meant for that server.

    That is OpenAI's server or the one in OPENAI_BASE_URL. Raises UserError when a key is needed and missing.
    """
    trusted = {OPENAI_URL, os.environ.get("OPENAI_BASE_URL", OPENAI_URL).rstrip("/")}
    name = variable or ("OPENAI_API_KEY" if base_url in trusted else None)
    key = os.environ.get(name) if name else None
    if key is None and (variable or base_url == OPENAI_URL):
        raise UserError(f"{base_url} needs a key: set the environment variable {name}")
    return key


class OpenAIChat:
    """One model on one server, with retries and an adaptive limit on requests in flight.

    `concurrency` is the most requests at once, `timeout` the seconds for one request, `retries` how often
    a request is tried again after a refusal for load, a server error or no answer. Pictures are made to fit
    `max_image_edge` pixels (`colbench.models.pictures`).
    Entering it raises UserError unless the server answers and, where it lists its models, has this one.
    """

    def __init__(
        self,
        spec: str,
        *,
        concurrency: int = 256,
        timeout: float = 600.0,
        retries: int = 6,
        api_key_env: str | None = None,
        max_image_edge: int = MAX_EDGE,
    ) -> None:
        self.model, self.base_url = parse_spec(spec)
        self.limit = AdaptiveLimit(concurrency)
        self.timeout = timeout
        self.retries = retries
        self.max_image_edge = max_image_edge
        self._key = api_key_for(self.base_url, api_key_env)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> OpenAIChat:
        import aiohttp

        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60),
            timeout=aiohttp.ClientTimeout(total=self.timeout),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
        )
        try:
            await self._check()
        except BaseException:
            await self._session.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session:
            await self._session.close()

    async def _check(self) -> None:
        url = f"{self.base_url}/models"
        try:
            listing = msgspec.json.decode(await self._patiently(_Request(url), tries=3))
            names = [str(entry["id"]) for entry in listing["data"]]
        except EndpointError as cause:
            raise UserError(f"no model server answers: {cause}") from cause
        except (RequestRefusedError, msgspec.DecodeError, KeyError, TypeError):
            return
        if names and self.model not in names:
            shown = ", ".join(names[:LISTED_MODELS]) + (" …" if len(names) > LISTED_MODELS else "")
            raise UserError(f"{self.base_url} has no model `{self.model}`; it has: {shown}")

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        temperature: float,
        max_tokens: int,
        seed: int | None,
        schema: Mapping[str, Any] | None = None,
        tokens: bool = False,
    ) -> Message:
        """The model's next message; with a JSON Schema, a text that the server holds to it.

        With `tokens` it carries its token ids and log-probabilities, which vLLM returns from 0.10.2 on.

        Raises SchemaRefusedError when a request with a schema is refused, EndpointError when the server does not
        answer after all retries or does not take pictures, RequestRefusedError when the messages are longer than the
        model's context, UserError when the key or the address is refused.
        """
        limit = "max_completion_tokens" if self.base_url == OPENAI_URL else "max_tokens"
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": m.role, "content": await self._content(m)} for m in messages],
            "temperature": temperature,
            limit: max_tokens,
        }
        if seed is not None:
            body["seed"] = seed
        if schema is not None:
            named = {"name": "reply", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        if tokens:
            body |= {"logprobs": True, "return_token_ids": True}
        request = _Request(
            f"{self.base_url}/chat/completions",
            msgspec.json.encode(body),
            has_pictures=any(m.images for m in messages),
            has_schema=schema is not None,
        )
        content = await self._patiently(request, tries=self.retries + 1)
        return _read_completion(content, request.url, tokens=tokens)

    async def _content(self, message: Message) -> str | list[dict[str, Any]]:
        """The words; if there are pictures, these first, so that those that stay can be kept in a prefix cache."""
        if not message.images:
            return message.content
        pictures = await asyncio.to_thread(fit_pictures, message.images, self.max_image_edge)
        return [
            *({"type": "image_url", "image_url": {"url": data_url(png)}} for png in pictures),
            {"type": "text", "text": message.content},
        ]

    async def _patiently(self, request: _Request, tries: int) -> bytes:
        for attempt in range(1, tries + 1):
            try:
                async with self.limit:
                    content = await self._once(request)
                    self.limit.succeeded()
                    return content
            except _TryAgainError as again:
                if again.overload:
                    self.limit.overloaded(again.retry_after or 0.0)
                if attempt == tries:
                    times = "once" if tries == 1 else f"{tries} times"
                    raise EndpointError(f"{request.url}: tried {times}, last: {again}") from again
                await asyncio.sleep(_wait(attempt, again.retry_after))
        raise AssertionError("unreachable: the last try raises")

    async def _once(self, request: _Request) -> bytes:
        import aiohttp

        if self._session is None:
            raise RuntimeError("OpenAIChat is used outside `async with`")
        method = "GET" if request.body is None else "POST"
        headers = {"Content-Type": "application/json"}
        try:
            async with self._session.request(
                method, request.url, data=request.body, headers=headers
            ) as response:
                content = await response.read()
                if response.status == 200:
                    return content
                wait = response.headers.get("Retry-After")
                raise _refusal(response.status, content, wait, request)
        except TimeoutError as cause:
            raise _TryAgainError(f"no answer within {self.timeout:g} s") from cause
        except aiohttp.InvalidURL as cause:
            raise UserError(
                f"`{request.url}` is not an address; write MODEL@http://host:port/v1"
            ) from cause
        except aiohttp.ClientConnectorError as cause:
            reason = cause.os_error.strerror or str(cause.os_error)
            raise _TryAgainError(f"cannot connect: {reason}", overload=False) from cause
        except aiohttp.ClientError as cause:
            raise _TryAgainError(f"{type(cause).__name__}: {cause}", overload=False) from cause


def _read_completion(content: bytes, url: str, *, tokens: bool) -> Message:
    try:
        completion = _COMPLETION.decode(content)
        text = completion.choices[0].message.content or ""
    except (msgspec.DecodeError, IndexError) as cause:
        raise EndpointError(f"{url}: the answer is no chat completion: {cause}") from cause
    counts = completion.usage or _Counts()
    usage = Usage(
        prompt_tokens=counts.prompt_tokens, completion_tokens=counts.completion_tokens, requests=1
    )
    return Message(
        role="assistant",
        content=text,
        usage=usage if completion.usage else None,
        sampled=_sampled(completion, url) if tokens else None,
    )


def _sampled(completion: _Completion, url: str) -> Sampled:
    choice, prompt = completion.choices[0], completion.prompt_token_ids
    logprobs = choice.logprobs.content if choice.logprobs else None
    if prompt is None or choice.token_ids is None or logprobs is None:
        raise UserError(
            f"{url} returns no token ids or no log-probabilities, which --record-tokens needs; vLLM does from 0.10.2 on"
        )
    if len(choice.token_ids) != len(logprobs):
        raise EndpointError(
            f"{url}: {len(choice.token_ids)} tokens, but {len(logprobs)} log-probabilities"
        )
    return Sampled(
        prompt=prompt, ids=choice.token_ids, logprobs=tuple(each.logprob for each in logprobs)
    )


def _refusal(status: int, content: bytes, retry_after: str | None, request: _Request) -> Exception:
    url, text = request.url, content.decode("utf-8", "replace").strip()[:500]
    if status in RETRIED:
        return _TryAgainError(f"HTTP {status}: {text}", _seconds(retry_after), status in OVERLOAD)
    if status in {401, 403}:
        return UserError(f"{url} refuses the key (HTTP {status}): {text}")
    if status == 404:
        return UserError(f"{url} does not exist there or has no such model (HTTP 404): {text}")
    if status == 400 and _too_long(text):
        return RequestRefusedError(f"HTTP 400: {text}")
    return _refusal_of_content(status, text, request)


def _refusal_of_content(status: int, text: str, request: _Request) -> Exception:
    if status in SCHEMA_REFUSED and request.has_schema:
        return SchemaRefusedError(f"HTTP {status}: {text}")
    if status in PICTURES_REFUSED and request.has_pictures:
        return EndpointError(
            f"{request.url}: the server refuses the pictures (HTTP {status}): {text}"
        )
    return EndpointError(f"{request.url}: HTTP {status}: {text}")


def _too_long(text: str) -> bool:
    """Whether a refusal is for the dialogue's length; vLLM has words of its own where pictures are counted."""
    words = "context" in text and ("length" in text or "window" in text)
    return words or "maximum model length" in text


def _seconds(retry_after: str | None) -> float | None:
    try:
        return min(max(float(retry_after or ""), 0.0), LONGEST_WAIT)
    except ValueError:
        return None


def _wait(attempt: int, retry_after: float | None) -> float:
    """Full jitter over an exponential back-off; never less than what the server asked for."""
    backoff = random.uniform(0, min(LONGEST_WAIT, 0.5 * 2**attempt))  # noqa: S311 - jitter, no secret
    return max(backoff, retry_after or 0.0)
