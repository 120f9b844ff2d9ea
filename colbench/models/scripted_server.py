"""A local OpenAI-compatible server that says what a script says.

It stands in for a model server where none can run: tests, benchmarks, trying out an agent without a key.
It can also misbehave on request: refuse, delay, break the connection, answer garbage.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from colbench.messages import Message
from colbench.models.pictures import from_data_url

if TYPE_CHECKING:
    from aiohttp import web


Reply = str | dict[str, Any]
"""What a script says here: words, or a whole message of the assistant as the API has it, with `tool_calls`."""
Script = Callable[[Sequence[Message]], Reply]
BYTE_LOGPROB = -5.545177444479562
"""Natural logarithm of 1/256."""


class Fault(Struct, frozen=True, kw_only=True):
    """A bad answer: an HTTP status with a body, or, with status 0, a connection cut without an answer."""

    status: int
    body: str = ""
    headers: dict[str, str] = {}


class ScriptedServer:
    """Serves `script` as the model `model`; `async with` gives the running server.

    `fault(n)`, if given, decides for the n-th chat request (from 1) whether it is answered by a Fault.
    `delay`, in seconds or a function that draws them, holds up no other request. `requests`, `headers` and
    `paths` keep what was asked; Azure's paths are served as well.
    Like vLLM it returns token ids and log-probabilities when asked: its tokens are the bytes of what is said.
    The script is handed pictures as `Message.images`; without `sees` they are refused, as by a model of text.
    """

    def __init__(
        self,
        script: Script,
        *,
        model: str = "scripted",
        delay: float | Callable[[], float] = 0.0,
        port: int = 0,
        fault: Callable[[int], Fault | None] | None = None,
        sees: bool = True,
    ) -> None:
        self.script = script
        self.model = model
        self.delay = delay
        self.port = port
        self.fault = fault
        self.sees = sees
        self.requests: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.paths: list[str] = []
        self._runner: web.AppRunner | None = None

    @property
    def base_url(self) -> str:
        """Where it listens, `/v1` included."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def __aenter__(self) -> ScriptedServer:
        from aiohttp import web

        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/openai/deployments/{deployment}/chat/completions", self._chat)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, backlog=1024)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner:
            await self._runner.cleanup()

    async def _models(self, _: web.Request) -> web.Response:
        return _json({"object": "list", "data": [{"id": self.model, "object": "model"}]})

    async def _chat(self, request: web.Request) -> web.Response:
        from aiohttp import web

        body = msgspec.json.decode(await request.read())
        self.requests.append(body)
        self.headers.append(request.headers)
        self.paths.append(request.path_qs)
        fault = self.fault(len(self.requests)) if self.fault else None
        await asyncio.sleep(self.delay() if callable(self.delay) else self.delay)
        if fault and fault.status == 0 and request.transport:
            request.transport.abort()
        if fault:
            return web.Response(
                status=fault.status or 500,
                body=fault.body.encode("utf-8", "surrogateescape"),
                headers=fault.headers,
            )
        messages = [_message(said) for said in body["messages"]]
        if not self.sees and any(message.images for message in messages):
            return web.Response(status=400, text=f"{self.model} is not a multimodal model")
        said = completion(self.model, messages, self.script)
        return _json(with_tokens(said, messages) if body.get("return_token_ids") else said)


def completion(model: str, messages: Sequence[Message], script: Script) -> dict[str, Any]:
    """The body of a chat completion that holds the script's reply; tokens are counted as words."""
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
    """The completion with a token for each byte, all as probable, and 0 for the end, in vLLM's fields."""
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


def _json(value: object) -> web.Response:
    from aiohttp import web

    return web.Response(body=msgspec.json.encode(value), content_type="application/json")
