"""The chat client for every server with OpenAI's chat completions API.

`openai:MODEL` sends requests through the official package. `vllm:MODEL`, and `openai:MODEL` with `client=aiohttp`, use
aiohttp (`colbench.models.transports`). Limits, retries and the reading of responses are the same in both cases.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from colbench.clock import waiting
from colbench.config import ArgValue
from colbench.errors import EndpointError, TooLongError, UserError
from colbench.messages import Message, clean, split_thoughts
from colbench.models.address import OPENAI_URL, api_key_for, azure_endpoint, azure_key, parse_spec
from colbench.models.connection import Connection
from colbench.models.dialect import LIMITS, Dialect, own_limit, request_fields, too_long
from colbench.models.load import ClientLoad
from colbench.models.pictures import MAX_EDGE, data_url, fit_pictures
from colbench.models.refusals import (
    NotNowError,
    OtherRequestError,
    PassingError,
    RefusedError,
    backoff,
    refusal,
    words,
)
from colbench.models.reply import Completion, MalformedError, ReportedError, read_completion
from colbench.models.transports import Answer, BrokenError, Client, UnreachableError

PICTURES_REFUSED = {400, 413, 415, 422}
"""Status codes with which a server may refuse pictures."""
SCHEMA_REFUSED = {400, 415, 422, 501}
"""Status codes with which a server may refuse `response_format`."""
EMPTY_TRIES = 3
"""Number of requests after which an empty reply is accepted as the model's reply."""
REQUEST_IDS = ("x-request-id", "apim-request-id", "request-id")


class SchemaRefusedError(Exception):
    """The server refused a request with a schema for the reply, perhaps because the server cannot use schemas."""


class _Request(Struct, kw_only=True):
    """A reply to be requested, and counts of the attempts so far."""

    fields: dict[str, Any]
    max_tokens: int
    has_pictures: bool
    has_schema: bool
    tokens: bool
    start: float
    sent_limit: int = 0
    """The token limit of the latest attempt."""
    failures: int = 0
    """Number of requests that had to be repeated, for example after overload or an empty reply."""
    tries: int = 0
    """Number of failed requests that used up a try."""
    spent: float = 0.0
    """Seconds spent on requests that an overloaded server refused, and on the waits after them."""
    empty: int = 0
    """Number of empty replies."""


class OpenAIChat:
    """A client of one model on one or more servers, with retries and an adaptive limit on requests in flight.

    `spec` is `MODEL[@URL[,URL…]]` or, if `azure` is set, `DEPLOYMENT[@ENDPOINT]`. `concurrency` is the maximum number
    of concurrent requests to each server, shared by all callers of the server. `timeout` is the time limit in seconds
    for one request. `retries` is the number of times that a failed request is repeated. Repetitions after overload, or
    after a server was unreachable, do not count; `--endpoint-patience` limits their duration. `api_key_env` names the
    environment variable of the server's key; the default is the provider's variable (`address.api_key_for`). `client`
    is `openai` (the official package) or `aiohttp`. Pictures are made to fit `max_image_edge` pixels (see `pictures`).
    All other `fields`, such as `reasoning_effort`, and the fields in `extra_body` are added to each request. A string
    with a JSON object or list is sent as that object or list.

    The constructor raises UserError if an argument is invalid or a needed key is missing. Opening the context raises
    UserError if a server fails the check (`Connection.check`). The key is checked by the first request.
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
        client: Client = "openai",
        azure: bool = False,
        **fields: ArgValue,
    ) -> None:
        if client not in get_args(Client):
            raise UserError(f"client={client}: unknown; choose {' or '.join(get_args(Client))}")
        self.client = client
        self.concurrency = concurrency
        self.timeout = timeout
        self.retries = retries
        self.max_image_edge = max_image_edge
        self._fields = request_fields(fields)
        if azure:
            self.model, _, endpoint = spec.partition("@")
            if not self.model:
                raise UserError(
                    "azure: the deployment is missing; write azure:DEPLOYMENT[@ENDPOINT]"
                )
            keys = {azure_endpoint(endpoint): azure_key(api_key_env)}
        else:
            self.model, urls = parse_spec(spec)
            keys = {url: api_key_for(url, api_key_env) for url in urls}
        self._connections = [
            Connection(url, key, client=client, deployment=self.model if azure else "")
            for url, key in keys.items()
        ]
        self._load = ClientLoad(client)
        name, self._limit = own_limit(self._fields)
        self.dialect = Dialect(limit=name or LIMITS[azure or OPENAI_URL in keys])
        self.require_server: Callable[[], None] = lambda: None
        """A function that is called while a server is unreachable; it raises UserError if waiting is useless."""

    @property
    def base_url(self) -> str:
        """The URL of the first server."""
        return self._connections[0].url

    async def __aenter__(self) -> OpenAIChat:
        try:
            for each in self._connections:
                each.open(timeout=self.timeout, concurrency=self.concurrency)
            for each in self._connections:
                await each.check(self.model)
            self._load = ClientLoad(self.client)
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._load.tell()
        await self._close()

    async def _close(self) -> None:
        for each in self._connections:
            await each.close()

    def learned(self) -> list[str]:
        """Return the properties of the model and its server learned from responses, such as a rejected field."""
        return list(self.dialect.learned())

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
        """Return the model's next message; if a JSON Schema is given, the server makes the text conform to it.

        A token limit among the client's `fields` replaces `max_tokens`. If `max_tokens` is a `Suggested` limit, it is
        raised for a model that thinks before it writes. With `tokens`, the message includes its token IDs and
        log-probabilities, which vLLM 0.10.2 and later return.

        Raises SchemaRefusedError if a request with a schema is refused, TooLongError if the messages are longer than
        the model's context. Raises EndpointError if the server does not answer, or refuses the request for another
        reason, such as pictures. Raises UserError if the account is empty, if requested tokens are not returned, or if
        the key, the URL or one of the client's `fields` is refused before the server has answered this client.
        """
        fields: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": m.role, "content": await self._content(m)} for m in messages],
            "temperature": temperature,
        }
        if seed is not None:
            fields["seed"] = seed
        if schema is not None:
            named = {"name": "reply", "strict": True, "schema": schema}
            fields["response_format"] = {"type": "json_schema", "json_schema": named}
        if tokens:
            fields |= {"logprobs": True, "return_token_ids": True}
        request = _Request(
            fields=fields | self._fields,
            max_tokens=self._limit or max_tokens,
            has_pictures=any(m.images for m in messages),
            has_schema=schema is not None,
            tokens=tokens,
            start=time.monotonic(),
        )
        # use one server for all turns of a dialogue: this server's prefix cache holds the dialogue so far
        first = hash(tuple(m.content for m in messages[:2]))
        with waiting():
            return await self._reply(request, first)

    async def _reply(self, request: _Request, first: int) -> Message:
        """Return the reply, after repetitions if needed; start with server `first`. Raises the errors of `chat`."""
        while True:
            connection = self._choose(first + request.failures)
            try:
                completion, sent = await self._ask(connection, request)
            except UnreachableError as cause:
                request.failures += 1
                connection.server.lost(str(cause), partial(self._probe, connection))
            except OtherRequestError:
                request.failures += 1
            except NotNowError as cause:
                await self._back_off(connection, request, cause)
            except RefusedError as cause:
                await self._try_again(connection, request, cause)
            else:
                if self._is_final(request, completion):
                    return self._message(request, completion, sent)

    async def _probe(self, connection: Connection) -> None:
        self.require_server()
        await connection.probe()

    def _choose(self, number: int) -> Connection:
        """Return the first connection from `number` on whose server is up; connection `number` if all are down."""
        start = number % len(self._connections)
        order = self._connections[start:] + self._connections[:start]
        return next((each for each in order if not each.server.is_down), order[0])

    async def _ask(self, connection: Connection, request: _Request) -> tuple[Completion, float]:
        """Send one request. Return the completion and the time when the request was sent."""
        server = connection.server
        await server.ready()
        async with server.limit.slot(again=request.failures > 0) as slot:
            version, sent = self.dialect.version, time.monotonic()
            request.sent_limit = self.dialect.tokens(request.max_tokens)
            body = self.dialect.body(request.fields, request.max_tokens)
            try:
                read = _read(await connection.transport.post("/chat/completions", body))
                if isinstance(read, Answer):
                    raise self._refusal(connection, request, read, body, version)
            except TimeoutError as cause:
                raise RefusedError(f"no answer within {self.timeout:g} s", "timeout") from cause
            except BrokenError as cause:
                raise RefusedError(str(cause), "connection") from cause
            except MalformedError as cause:
                raise RefusedError(str(cause), "malformed") from cause
            except NotNowError:
                request.spent += time.monotonic() - sent
                slot.refused()
                raise
            slot.succeeded()
        connection.has_answered = True
        server.answered()
        self._load.calls += 1
        return read, sent

    def _refusal(
        self,
        connection: Connection,
        request: _Request,
        answer: Answer,
        body: dict[str, Any],
        version: int,
    ) -> Exception:
        """Return the error for a refused request. If the refusal shows how to avoid another, adapt the next request."""
        known = refusal(connection.chat_url, answer, has_answered=connection.server.has_answered)
        if known:
            return known
        if too_long(answer.status, answer.content):
            # without a limit for the reply, the messages may fit: the server uses the rest of the context
            if not set(LIMITS) & body.keys():
                return TooLongError(words(answer))
            request.max_tokens = 0
            return OtherRequestError()
        learned = self.dialect.learn(answer.status, answer.content, body)
        if learned or self.dialect.version != version:
            return OtherRequestError()
        return self._refusal_of_content(connection, request, answer)

    def _refusal_of_content(
        self, connection: Connection, request: _Request, answer: Answer
    ) -> Exception:
        url, said = connection.chat_url, words(answer)
        if answer.status in SCHEMA_REFUSED and request.has_schema:
            return SchemaRefusedError(said)
        if answer.status in PICTURES_REFUSED and request.has_pictures:
            return EndpointError(f"{url} rejects a request with pictures ({said})", kind="rejected")
        named = set(re.findall(r"\w+", said))
        own = next((name for name in self._fields if name in named), None)
        if own and not connection.has_answered:  # every request has these fields
            fix = "correct or remove it in --agent-arg, --human-arg, or their extra_body"
            return UserError(f"{url} rejects the field `{own}`; {fix} ({said})")
        return EndpointError(f"{url}: {said}", kind="rejected")

    async def _back_off(
        self, connection: Connection, request: _Request, cause: NotNowError
    ) -> None:
        """Wait after a refusal due to overload. Raises EndpointError if `--endpoint-patience` is used up."""
        patience = connection.server.patience
        if request.spent >= patience:
            raise EndpointError(
                f"{connection.chat_url}: the server refused requests for {patience:g} s "
                f"(--endpoint-patience); last error: {cause}",
                kind=cause.kind,
            ) from cause
        request.failures += 1
        pause = min(backoff(request.failures, cause.retry_after), patience)
        request.spent += pause
        with connection.server.backing_off(str(cause)):
            await asyncio.sleep(pause)

    async def _try_again(
        self, connection: Connection, request: _Request, cause: RefusedError
    ) -> None:
        """Wait after a failed request.

        After the last try, raises UserError if the server refused the key or the URL and has never answered this
        client. In all other cases, raises EndpointError after the last try.
        """
        request.failures += 1
        request.tries += 1
        if request.tries > self.retries:
            if isinstance(cause, PassingError) and not connection.has_answered:
                raise cause.mistake from cause
            times = "once" if request.tries == 1 else f"{request.tries} times"
            raise EndpointError(
                f"{connection.chat_url}: tried {times}; last error: {cause}",
                kind=cause.kind,
            ) from cause
        pause = min(backoff(request.tries, cause.retry_after), connection.server.patience)
        await asyncio.sleep(pause)

    def _is_final(self, request: _Request, completion: Completion) -> bool:
        """Return False if the reply must be requested again: it is empty, or was cut off by a limit that is now higher.

        Only a suggested token limit (`Suggested`) can become higher. An empty reply is final after `EMPTY_TRIES`
        requests. If tokens are recorded, the first empty reply is final, because training also needs empty replies.
        """
        delivery = completion.message.delivery
        thoughts, spoken = split_thoughts(completion.message.content)
        has_words = bool(spoken.strip())
        cut = delivery is not None and delivery.cut
        self.dialect.thinks |= completion.thought or bool(thoughts) or (cut and not has_words)
        if cut and request.sent_limit < self.dialect.tokens(request.max_tokens):
            request.failures += 1
            return False
        request.empty += not has_words
        if has_words or request.tokens or request.empty >= EMPTY_TRIES:
            return True
        request.failures += 1
        if "seed" in request.fields:  # the same seed would give the same reply
            request.fields["seed"] = (request.fields["seed"] + 1) & 0x7FFFFFFF
        return False

    def _message(self, request: _Request, completion: Completion, sent: float) -> Message:
        if request.tokens and completion.sampled is None:
            raise UserError(
                f"{self.base_url} does not return the token IDs and log-probabilities that "
                "--record-tokens needs; vLLM 0.10.2 and later do"
            )
        waited = round(sent - request.start, 3)
        delivery = completion.message.delivery
        return replace(
            completion.message,
            delivery=delivery and replace(delivery, retries=request.failures, waited=waited),
            sampled=completion.sampled if request.tokens else None,
        )

    async def _content(self, message: Message) -> str | list[dict[str, Any]]:
        """Return a message's content, pictures first: a server can reuse its prefix cache if only the text changes."""
        if not message.images:
            return message.content
        pictures = await asyncio.to_thread(fit_pictures, message.images, self.max_image_edge)
        return [
            *({"type": "image_url", "image_url": {"url": data_url(png)}} for png in pictures),
            {"type": "text", "text": message.content},
        ]


def _read(answer: Answer) -> Completion | Answer:
    """Return the completion in a response. A refusal, even one sent with status 200, is returned as an Answer."""
    if not 200 <= answer.status < 300:
        return answer
    try:
        completion = read_completion(answer.content)
    except ReportedError as error:
        return Answer(error.status, answer.headers, str(error).encode())
    names = (name for name in REQUEST_IDS if name in answer.headers)
    identity = clean(next((answer.headers[name] for name in names), ""))
    delivery = completion.message.delivery
    if not (identity and delivery):
        return completion
    message = replace(completion.message, delivery=replace(delivery, request_id=identity))
    return replace(completion, message=message)
