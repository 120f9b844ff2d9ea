"""A local OpenAI-compatible server that replies from a script.

It replaces a model server in tests and benchmarks, and lets users try an agent without an API key. It can also
misbehave on request: refuse, delay, break the connection, answer garbage.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from colbench.messages import Message
from colbench.models.pictures import from_data_url

if TYPE_CHECKING:
    from aiohttp import web


Reply = str | dict[str, Any]
"""A reply of a script: a string, or a complete assistant message of the API, which may have `tool_calls`."""
Script = Callable[[Sequence[Message]], Reply]
BYTE_LOGPROB = -5.545177444479562
"""Log-probability of every token: the natural logarithm of 1/256, as if all bytes were equally probable."""
DRIP_INTERVAL = 0.05
"""Seconds between two bytes of a body that never ends."""


class Fault(Struct, frozen=True, kw_only=True):
    """A faulty response or delivery. If neither `body` nor `status` is set, the completion from the script is sent."""

    status: int = 200
    """HTTP status; 0: the connection is cut without an answer."""
    body: str | bytes | None = None
    headers: dict[str, str] | Callable[[], dict[str, str]] = {}
    edit: Callable[[dict[str, Any]], object] | None = None
    """A function that changes the script's completion and returns it, or returns the body to send instead."""
    sent: Literal["whole", "half", "drip"] = "whole"
    """`half`: the connection is cut in the middle of the body; `drip`: the body never ends."""
    delay: float = 0.0
    """Seconds before the answer to a chat request, in addition to the server's own `delay`."""
    slots: int = 0
    """Maximum number of requests for the same model that are served at the same time; 0: no limit."""
    queues: bool = False
    """True if requests wait when all slots are taken; otherwise they are refused with 429."""
    restart: float = 0.0
    """Seconds for which the server is down after the request."""
    when: Callable[[Mapping[str, Any]], bool] | None = None
    """A function that selects requests by their body; None: every request is selected."""

    def applies(self, body: Mapping[str, Any]) -> bool:
        """Return True if the fault applies to a request with this body."""
        return self.when is None or self.when(body)

    @property
    def is_answered(self) -> bool:
        """True if the server sends the script's completion: the fault sets neither another status nor a body."""
        return self.status == 200 and self.body is None


OVERLOADED = Fault(status=429, body="all slots are taken")


class ScriptedServer:
    """A server that answers as the model `model` with the replies of `script`; it runs inside `async with`.

    `fault(n)`, if given, returns the Fault for the n-th chat request, counted from 1, or None. `models` is a Fault for
    GET /models. `delay` is the number of seconds before each answer to a chat request, or a function that returns it.
    The lists `requests`, `headers` and `paths` record the chat requests.

    Azure's paths are served as well; `/no-models/v1` serves chat completions, but no list of models. Like vLLM, the
    server returns token IDs and log-probabilities on request: its tokens are the bytes of the text. The script receives
    pictures as `Message.images`; if `sees` is False, pictures are refused, as by a text-only model.
    """

    def __init__(
        self,
        script: Script,
        *,
        model: str = "scripted",
        delay: float | Callable[[], float] = 0.0,
        port: int = 0,
        fault: Callable[[int], Fault | None] | None = None,
        models: Fault | None = None,
        sees: bool = True,
    ) -> None:
        self.script = script
        self.model = model
        self.delay = delay
        self.port = port
        self.fault = fault
        self.models = models
        self.sees = sees
        self.requests: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.paths: list[str] = []
        self._slots: dict[str, asyncio.Semaphore] = {}
        self._runner: web.AppRunner | None = None
        self._restart: asyncio.Task[None] | None = None

    @property
    def base_url(self) -> str:
        """The URL of the server, including `/v1`."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def model_names(self) -> Sequence[str]:
        """The names in the answer to GET /models."""
        return [self.model]

    async def __aenter__(self) -> ScriptedServer:
        await self._listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._restart:
            self._restart.cancel()
            await asyncio.wait([self._restart])
        await self._close()

    async def restart(self, seconds: float) -> None:
        """Cut all connections, and listen again after this many seconds."""
        await self._close()
        await asyncio.sleep(seconds)
        await self._listen()

    def fault_of(self, body: Mapping[str, Any]) -> Fault | None:
        """Return the fault for the newest request, whose body is given; None if no fault applies."""
        fault = self.fault(len(self.requests)) if self.fault else None
        return fault if fault and fault.applies(body) else None

    async def _listen(self) -> None:
        from aiohttp import web

        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/no-models/v1/chat/completions", self._chat)
        app.router.add_post("/openai/deployments/{deployment}/chat/completions", self._chat)
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, backlog=1024, reuse_address=True)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def _close(self) -> None:
        if self._runner is None or self._runner.server is None:
            return
        for site in tuple(self._runner.sites):
            await site.stop()
        await asyncio.sleep(0.05)  # let the last accepted socket become a connection
        for each in self._runner.server.connections:
            _cut(each.transport)
        await self._runner.cleanup()
        self._runner = None

    async def _models(self, request: web.Request) -> web.StreamResponse:
        listed = [{"id": name, "object": "model"} for name in self.model_names]
        return await _send(request, self.models or Fault(), {"object": "list", "data": listed})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = msgspec.json.decode(await request.read())
        self.requests.append(body)
        self.headers.append(request.headers)
        self.paths.append(request.path_qs)
        fault = self.fault_of(body) or Fault()
        if fault.restart and (self._restart is None or self._restart.done()):
            self._restart = asyncio.create_task(self.restart(fault.restart))
        async with self._slot(str(body.get("model")), fault) as is_free:
            if not is_free:
                return await _send(request, OVERLOADED, {})
            await asyncio.sleep(self.delay() if callable(self.delay) else self.delay)
            await asyncio.sleep(fault.delay)
        return await _send(request, fault, self._said(body) if fault.is_answered else {})

    @asynccontextmanager
    async def _slot(self, name: str, fault: Fault) -> AsyncIterator[bool]:
        """Hold one of a model's slots during the context. Yield False if all are taken and requests do not queue."""
        if not fault.slots:
            yield True
            return
        slots = self._slots.setdefault(name, asyncio.Semaphore(fault.slots))
        if slots.locked() and not fault.queues:
            yield False
            return
        async with slots:
            yield True

    def _said(self, body: Mapping[str, Any]) -> dict[str, Any] | Fault:
        """Return the script's completion or, if the request has pictures and `sees` is False, a Fault."""
        messages = [_message(said) for said in body["messages"]]
        if not self.sees and any(message.images for message in messages):
            return Fault(status=400, body=f"{self.model} is not a multimodal model")
        said = completion(self.model, messages, self.script)
        return with_tokens(said, messages) if body.get("return_token_ids") else said


def completion(model: str, messages: Sequence[Message], script: Script) -> dict[str, Any]:
    """Return the body of a chat completion with the script's reply; each word counts as one token."""
    reply = script(messages)
    message = {"role": "assistant", "content": reply} if isinstance(reply, str) else reply
    prompt = sum(len(m.content.split()) for m in messages)
    said = len((message["content"] or "").split())
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls" if message.get("tool_calls") else "stop",
                "message": message,
            }
        ],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": said,
            "total_tokens": prompt + said,
        },
    }


def with_tokens(said: dict[str, Any], messages: Sequence[Message]) -> dict[str, Any]:
    """Return the completion with vLLM's token fields: a token for each byte of the text, then the end token 0."""
    prompt = "\n".join(f"{message.role}: {message.content}" for message in messages)
    (choice,) = said["choices"]
    ids = [*(choice["message"]["content"] or "").encode(), 0]
    logprobs = {"content": [{"token": chr(each), "logprob": BYTE_LOGPROB} for each in ids]}
    choices = [choice | {"token_ids": ids, "logprobs": logprobs}]
    return said | {"prompt_token_ids": list(prompt.encode()), "choices": choices}


def _message(said: dict[str, Any]) -> Message:
    content = said.get("content") or ""
    if isinstance(content, str):
        return Message(role=said["role"], content=content)
    text = "".join(part["text"] for part in content if part["type"] == "text")
    urls = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
    return Message(role=said["role"], content=text, images=tuple(map(from_data_url, urls)))


async def _send(
    request: web.Request, fault: Fault, said: dict[str, Any] | Fault
) -> web.StreamResponse:
    """Send the completion `said`, changed or replaced as `fault` requires; if `said` is a Fault, send that fault."""
    from aiohttp import web

    if isinstance(said, Fault):
        fault, said = said, {}
    own = fault.headers() if callable(fault.headers) else fault.headers
    headers = {"Content-Type": "application/json"} | own
    body, status = _body(fault, said), fault.status or 500
    if fault.status == 0:
        _cut(request.transport)
    if fault.sent == "whole":
        return web.Response(status=status, body=body, headers=headers)
    response = web.StreamResponse(status=status, headers=headers)
    if fault.sent == "half":
        response.content_length = len(body)
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    while fault.sent == "drip":
        await asyncio.sleep(DRIP_INTERVAL)
        await response.write(b" ")
    _cut(request.transport)
    return response


def _body(fault: Fault, said: dict[str, Any]) -> bytes:
    body: object = said if fault.is_answered else fault.body or b""
    if fault.edit and fault.is_answered:
        body = fault.edit(copy.deepcopy(said))
    if isinstance(body, str):
        return body.encode("utf-8", "surrogateescape")
    return body if isinstance(body, bytes) else msgspec.json.encode(body)


def _cut(transport: asyncio.BaseTransport | None) -> None:
    """Cut a connection without closing it in an orderly way."""
    if isinstance(transport, asyncio.WriteTransport):
        transport.abort()
