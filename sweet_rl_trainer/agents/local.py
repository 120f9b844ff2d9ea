"""The agent and the human behind `local:FOLDER`: a checkpoint in the harness's own process, without a server.

Replies requested at the same time form one batch. `local:` is for small models and for machines without a server; vLLM
is faster for large models.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

import msgspec
from msgspec.structs import replace

from colbench.clock import waiting
from colbench.config import ArgValue, derive_seed
from colbench.errors import TooLongError, UserError, describe_exception
from colbench.messages import Message, Sampled, Usage
from colbench.prompted_human import PromptedHuman
from colbench_agents.model import PromptedAgent
from sweet_rl_trainer.console import quiet

quiet()  # before importing the libraries it silences

from sweet_rl_trainer.agents.no_answer import NoAnswerModel  # noqa: E402
from sweet_rl_trainer.data.chat import Chat  # noqa: E402
from sweet_rl_trainer.model.checkpoint import load_tokenizer, resolve  # noqa: E402
from sweet_rl_trainer.model.digest import model_digest  # noqa: E402
from sweet_rl_trainer.model.generate import context_of, ends_of, generate  # noqa: E402
from sweet_rl_trainer.model.kv_cache import Prefixes  # noqa: E402
from sweet_rl_trainer.model.load import load_model  # noqa: E402
from sweet_rl_trainer.settings import Precision  # noqa: E402

GATHER = 0.01
"""Seconds during which requests for replies are gathered into a batch."""
HELD = 512
"""Number of tokens of unfinished dialogues that the key-value cache keeps, for each row of a batch."""
SINGLE_PROCESS = (
    "local: each process would load the weights, and batches would be smaller; leave this "
    "setting at 1"
)
"""The reason why a run with a local agent or human must have only one process."""


class LocalAgent(PromptedAgent):
    """The agent `local:FOLDER` or `local:OWNER/NAME[@REVISION]`, with the same prompts and temperature as `openai:`.

    `dtype` is the weights' data type, `rows` the maximum number of replies in a batch. `template_args` is a JSON object
    with variables of the chat template. With `answers=False`, replies that are answers are drawn again (`no_answer`).
    Raises UserError if `model` is not a checkpoint, or `template_args` is not a JSON object.
    """

    single_process = SINGLE_PROCESS

    def __init__(
        self,
        model: str,
        *,
        prompt: str | None = None,
        single_turn: bool = False,
        temperature: float = 1.0,
        max_tokens: int = 1024,
        dtype: Precision = "float32",
        rows: int = 64,
        template_args: str = "{}",
        answers: bool = True,
    ) -> None:
        self._local = shared_chat(model, dtype=dtype, rows=rows, template_args=template_args)
        super().__init__(
            self._local if answers else NoAnswerModel(self._local),
            prompt=prompt,
            single_turn=single_turn,
            temperature=temperature,
            max_tokens=max_tokens,
        )

    def describe(self) -> dict[str, str]:
        """Return further properties of the agent for the run's record, such as a digest of its weights."""
        return {"model": self._local.digest, "dtype": self._local.dtype, **super().describe()}


class LocalHuman(PromptedHuman):
    """The human `local:FOLDER`.

    The weights are loaded only once if a local agent has the same checkpoint, `dtype`, `rows` and `template_args`.
    """

    single_process = SINGLE_PROCESS

    def __init__(
        self,
        model: str,
        *,
        prompt: str | None = None,
        temperature: float = 0.0,
        max_tokens: int | None = None,
        max_chars: int | None = None,
        dtype: Precision = "float32",
        rows: int = 64,
        template_args: str = "{}",
    ) -> None:
        self._local = shared_chat(model, dtype=dtype, rows=rows, template_args=template_args)
        super().__init__(
            self._local,
            prompt=prompt,
            temperature=temperature,
            max_tokens=max_tokens,
            max_chars=max_chars,
        )

    def describe(self) -> dict[str, str]:
        """Return the digest and the dtype of the human's model, for the record of the run."""
        return {"model": self._local.digest, "dtype": self._local.dtype}


@dataclass(frozen=True, kw_only=True)
class _Asked:
    prompt: list[int]
    seed: int
    temperature: float
    max_tokens: int
    reply: asyncio.Future[list[int]]


class LocalChat:
    """A checkpoint as a chat model (`colbench.interfaces.ChatModel`), loaded at the first request.

    Raises UserError if `model` is not a checkpoint, or `template_args` is not a JSON object of scalars.
    """

    def __init__(
        self, model: str, *, dtype: Precision, rows: int, template_args: str = "{}"
    ) -> None:
        self.dtype = dtype
        self._template_args = _decoded(template_args)
        self._folder = resolve(model)
        self._rows = rows
        self._prefixes = Prefixes(HELD * rows)
        self._waiting: list[_Asked] = []
        self._work: asyncio.Task[None] | None = None
        self._loading: asyncio.Task[Any] | None = None

    @cached_property
    def digest(self) -> str:
        """The digest of the weights."""
        return model_digest(self._folder)

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        temperature: float,
        max_tokens: int,
        seed: int | None,
        tokens: bool = False,
        begun: str = "",
    ) -> Message:
        """Return the next message, which starts with `begun`.

        Raises TooLongError if the model's context has no room for `max_tokens` tokens after the prompt, and UserError
        if the model fails.
        """
        await self._load()
        prompt = self._chat.prompt(messages, where="the dialogue")
        prompt += self._chat.tokenizer.encode(begun, add_special_tokens=False)
        context = context_of(self._model)
        if len(prompt) + max_tokens > context:
            raise TooLongError(
                f"the prompt's {len(prompt)} tokens leave no room for a reply of max_tokens={max_tokens} in the "
                f"model's context of {context:.0f} tokens"
            )
        asked = _Asked(
            prompt=prompt,
            seed=derive_seed("local", seed),
            temperature=temperature,
            max_tokens=max_tokens,
            reply=asyncio.get_running_loop().create_future(),
        )
        self._waiting.append(asked)
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._answer())
        with waiting():  # the speaker's clock pauses, because other dialogues use the same model
            said = self._message(prompt, await asked.reply, tokens=tokens)
        return replace(said, content=begun + said.content)

    async def _load(self) -> None:
        """Load the tokenizer and the weights in a thread, once for all dialogues."""
        if self._loading is None:
            self._loading = asyncio.create_task(asyncio.to_thread(lambda: self._ends))
        with waiting():
            await asyncio.shield(self._loading)

    def _message(self, prompt: list[int], ids: list[int], *, tokens: bool) -> Message:
        text: str = self._chat.tokenizer.decode(
            ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return Message(
            role="assistant",
            content=text,
            usage=Usage(prompt_tokens=len(prompt), completion_tokens=len(ids), requests=1),
            sampled=Sampled(prompt=tuple(prompt), ids=tuple(ids), logprobs=()) if tokens else None,
        )

    async def _answer(self) -> None:
        await asyncio.sleep(GATHER)
        while self._waiting:
            batch = self._next_batch()
            try:
                replies = await asyncio.to_thread(self._generate, batch)
            except Exception as cause:
                error = UserError(f"local: the model failed\n{describe_exception(cause)}")
                for each in batch:
                    if not each.reply.done():
                        each.reply.set_exception(error)
                continue
            for each, reply in zip(batch, replies, strict=True):
                if not each.reply.done():
                    each.reply.set_result(reply)
            await asyncio.sleep(GATHER)

    def _next_batch(self) -> list[_Asked]:
        """Take a batch from the queue: the oldest request, and further requests with the same sampling settings."""
        first = self._waiting[0]
        like = [
            each
            for each in self._waiting
            if (each.temperature, each.max_tokens) == (first.temperature, first.max_tokens)
        ][: self._rows]
        taken = set(map(id, like))
        self._waiting = [each for each in self._waiting if id(each) not in taken]
        return like

    def _generate(self, batch: Sequence[_Asked]) -> list[list[int]]:
        return generate(
            self._model,
            [each.prompt for each in batch],
            [each.seed for each in batch],
            ends=self._ends,
            temperature=batch[0].temperature,
            max_tokens=batch[0].max_tokens,
            prefixes=self._prefixes,
        )

    @cached_property
    def _model(self) -> Any:
        return load_model(self._folder, dtype=self.dtype)

    @cached_property
    def _chat(self) -> Chat:
        return Chat(load_tokenizer(self._folder), template_args=self._template_args)

    @cached_property
    def _ends(self) -> list[int]:
        return ends_of(self._model, self._chat)


def _decoded(template_args: str) -> dict[str, ArgValue]:
    try:
        return msgspec.json.decode(template_args, type=dict[str, ArgValue])
    except msgspec.DecodeError as cause:
        raise UserError(
            f"template_args {template_args!r}: {cause}; expected a JSON object with the variables of the chat "
            'template, such as {"enable_thinking": false}'
        ) from cause


_CHATS: WeakValueDictionary[tuple[str, Precision, int, str], LocalChat] = WeakValueDictionary()


def shared_chat(model: str, *, dtype: Precision, rows: int, template_args: str) -> LocalChat:
    """Return the chat model of a checkpoint; equal calls return the same instance as long as it is in use."""
    key = (str(resolve(model)), dtype, rows, template_args)
    chat = _CHATS.get(key)
    if chat is None:
        chat = _CHATS[key] = LocalChat(model, dtype=dtype, rows=rows, template_args=template_args)
    return chat
