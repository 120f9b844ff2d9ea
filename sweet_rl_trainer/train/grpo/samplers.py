"""Samplers of replies.

`Rounds` samples in this process, in batches with one reply for each dialogue. `Server` uses a vLLM server, which
samples each reply as soon as it is requested. With both samplers, the time to a reply also depends on the other
dialogues, so this time does not count toward the agent's time limit.

The server completes token IDs, so it uses no chat template. It must be started as TRL requires
(`VLLM_SERVER_DEV_MODE=1 vllm serve MODEL --weight-transfer-config '{"backend": "nccl"}' --logprobs-mode
processed_logprobs`), and TRL sends it the weights before each batch of dialogues.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import msgspec
import torch
from msgspec import Struct

from colbench.clock import waiting
from colbench.errors import AgentError, EndpointError
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.model.generate import context_of, ends_of, generate
from sweet_rl_trainer.train.grpo.policy import Said
from sweet_rl_trainer.train.grpo.settings import GrpoSettings

if TYPE_CHECKING:
    import aiohttp

Generate = Callable[[list[list[int]]], list[list[int]]]


class Rounds:
    """A sampler that works in rounds: it waits until every unfinished dialogue needs a reply, then samples all replies.

    The dialogues in a round, and their order, therefore do not depend on timing. `generate`, which runs in its own
    thread, returns a reply to each prompt. A prompt can have at most `room` tokens. An error of `generate` is raised
    when the context ends.
    """

    def __init__(self, generate: Generate, *, dialogues: int, room: float) -> None:
        self._generate = generate
        self._talking = dialogues
        self._room = room
        self._waiting: dict[str, tuple[list[int], asyncio.Future[Said]]] = {}
        self._round: asyncio.Task[None] | None = None
        self._error: BaseException | None = None

    async def __aenter__(self) -> Rounds:
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._round:
            await asyncio.wait([self._round])
        if self._error:
            raise self._error

    async def sample(self, prompt: Sequence[int], dialogue: str) -> Said:
        """Return a reply when all unfinished dialogues wait for one. Raises AgentError if the prompt exceeds `room`."""
        if len(prompt) > self._room:
            raise AgentError(
                f"the prompt's {len(prompt)} tokens leave no room for a reply of max_new_tokens in the model's context",
                kind="context",
            )
        answer: asyncio.Future[Said] = asyncio.get_running_loop().create_future()
        self._waiting[dialogue] = (list(prompt), answer)
        self._begin()
        with waiting():
            return await answer

    def left(self) -> None:
        """Record that a dialogue is over, so that the other dialogues do not wait for it."""
        self._talking -= 1
        self._begin()

    def _begin(self) -> None:
        waiting = {name: each for name, each in self._waiting.items() if not each[1].done()}
        if waiting and len(waiting) == self._talking:
            self._waiting = {}
            self._round = asyncio.create_task(self._sample([waiting[n] for n in sorted(waiting)]))

    async def _sample(self, waiting: list[tuple[list[int], asyncio.Future[Said]]]) -> None:
        prompts = [prompt for prompt, _ in waiting]
        try:
            replies = await asyncio.to_thread(self._generate, prompts)
        except Exception as error:
            self._error = error
            replies = [[] for _ in prompts]
        for (_, answer), ids in zip(waiting, replies, strict=True):
            if not answer.done():
                answer.set_result(Said(ids=tuple(ids)))


def in_process(model: Any, chat: Chat, settings: GrpoSettings, *, dialogues: int) -> Rounds:
    """Return a sampler that uses a transformers model and the random generator that training has seeded."""

    def generate(prompts: list[list[int]]) -> list[list[int]]:
        return _generate(model, chat, settings, prompts)

    return Rounds(generate, dialogues=dialogues, room=context_of(model) - settings.max_new_tokens)


def _generate(
    model: Any, chat: Chat, settings: GrpoSettings, prompts: list[list[int]]
) -> list[list[int]]:
    training, device = model.training, model.device
    own = torch.cuda.device(device) if device.type == "cuda" else nullcontext()
    narrow = settings.precision == "bfloat16"
    model.eval()
    try:
        with own, torch.autocast(device.type, torch.bfloat16, enabled=narrow):
            return generate(
                model,
                prompts,
                torch.randint(2**62, (len(prompts),)).tolist(),
                ends=ends_of(model, chat),
                temperature=settings.temperature,
                max_tokens=settings.max_new_tokens,
            )
    finally:
        model.train(training)


class _Logprobs(Struct):
    token_logprobs: list[float | None]


class _Choice(Struct):
    token_ids: tuple[int, ...]
    logprobs: _Logprobs


class _Completion(Struct):
    choices: list[_Choice]


class Server:
    """A sampler that uses a vLLM server, for at most `concurrency` replies at a time.

    `model` is the server's name for the model.
    """

    def __init__(
        self, address: str, model: str, chat: Chat, settings: GrpoSettings, *, concurrency: int
    ) -> None:
        self._url = f"{address.rstrip('/')}/v1/completions"
        self._body = {
            "model": model,
            "max_tokens": settings.max_new_tokens,
            "temperature": settings.temperature,
            "top_p": 1.0,
            "top_k": 0,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "stop_token_ids": [chat.end],
            "logprobs": 0,
            "return_token_ids": True,
        }
        self._concurrency = concurrency
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Server:
        import aiohttp

        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._concurrency),
            timeout=aiohttp.ClientTimeout(total=None),
        )
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._session:
            await self._session.close()

    async def sample(self, prompt: Sequence[int], dialogue: str) -> Said:  # noqa: ARG002
        """Return a reply.

        Raises AgentError for the HTTP status 400 (prompt too long), and EndpointError for other failures.
        """
        import aiohttp

        if self._session is None:
            raise RuntimeError("Server must be used inside `async with`")
        body = msgspec.json.encode({**self._body, "prompt": list(prompt)})
        headers = {"Content-Type": "application/json"}
        try:
            with waiting():
                async with self._session.post(self._url, data=body, headers=headers) as response:
                    content = await response.read()
        except aiohttp.ClientError as cause:
            raise EndpointError(f"{self._url}: {type(cause).__name__}: {cause}") from cause
        if response.status != 200:
            said = f"{self._url}: {response.status}, {content[:200].decode(errors='replace')}"
            if response.status == 400:
                raise AgentError(said, kind="context")
            raise EndpointError(said, kind="server_error")
        return self._read(content)

    def _read(self, content: bytes) -> Said:
        try:
            (choice,) = msgspec.json.decode(content, type=_Completion).choices
        except (msgspec.DecodeError, ValueError) as cause:
            raise EndpointError(
                f"{self._url}: the response does not contain the token IDs and log-probabilities of one reply "
                f"({cause}); is the server vLLM 0.10.2 or newer?"
            ) from cause
        logprobs = tuple(0.0 if each is None else each for each in choice.logprobs.token_logprobs)
        return Said(ids=choice.token_ids, logprobs=logprobs)

    def left(self) -> None:
        """Do nothing, as no dialogue waits for another."""
