"""The model in training, as an agent of the harness that keeps the tokens of its dialogue.

If the chat template allows it, a dialogue is one sequence: each prompt is the previous prompt, the model's reply, and
what the template writes after a reply (the end of the turn, the human's words, the start of the next turn). So no
reply is tokenized again. Unlike in `colbench eval`, the private reasoning in replies (before `OUTPUT:`) stays in later
prompts.

If the template changes a reply (for example, strips earlier thoughts), or if a prompt does not begin with the previous
prompt and reply, the next prompt is the template's text for the dialogue so far, as in `colbench eval`. Each turn is
then its own sequence (`sequences`). In both cases, the gradient is over the sampled tokens, given the prompts from
which they were sampled.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from msgspec import Struct

from colbench.errors import AgentError
from colbench.messages import Message, Sampled
from sweet_rl_trainer.data.chat import PROBE, Chat


class Said(Struct, frozen=True, kw_only=True):
    """A sampled reply: its token IDs, including the end of the turn, and their log-probabilities if known."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...] = ()


class Sampler(Protocol):
    """A source of replies: an async context manager that is open for the dialogues of one step."""

    async def __aenter__(self) -> Sampler: ...

    async def __aexit__(self, *error: object) -> None: ...

    async def sample(self, prompt: Sequence[int], dialogue: str) -> Said:
        """Return a reply to a prompt of token IDs. Raises AgentError if the prompt leaves too little room."""
        ...

    def left(self) -> None:
        """Record that a dialogue is over."""
        ...


class Episode(Protocol):
    """A dialogue as the harness describes it to the agent (`colbench.interfaces.Episode`)."""

    @property
    def id(self) -> str: ...  # noqa: D102

    @property
    def domain(self) -> str: ...  # noqa: D102


class Policy:
    """The model as an agent. `prompts` has the system prompt of each domain; "" means no prompt."""

    records_tokens = True

    def __init__(self, chat: Chat, sampler: Sampler, prompts: Mapping[str, str]) -> None:
        self._chat = chat
        self._sampler = sampler
        self._prompts = prompts

    async def __aenter__(self) -> Policy:
        await self._sampler.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._sampler.__aexit__(*error)

    @asynccontextmanager
    async def open(self, episode: Episode) -> AsyncIterator[_Speaker]:
        """Open the agent of one dialogue."""
        try:
            yield _Speaker(self._chat, self._sampler, self._prompts[episode.domain], episode.id)
        finally:
            self._sampler.left()


class _Speaker:
    def __init__(self, chat: Chat, sampler: Sampler, system: str, dialogue: str) -> None:
        self._chat = chat
        self._sampler = sampler
        self._system = [Message(role="system", content=system)] if system else []
        self._dialogue = dialogue
        self._continues = continues(chat, system)
        self._ids: list[int] = []
        """The last prompt and the reply to it."""
        self._last = ""
        """The last reply as text."""

    async def reply(self, dialogue: Sequence[Message]) -> Message:
        prompt = self._prompt([*self._system, *dialogue])
        said = await self._sampler.sample(prompt, self._dialogue)
        if not said.ids:
            raise AgentError("the model produced no text")
        self._ids = [*prompt, *said.ids]
        self._last = self._chat.tokenizer.decode(
            list(said.ids), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        sampled = Sampled(prompt=tuple(prompt), ids=said.ids, logprobs=said.logprobs)
        return Message(role="assistant", content=self._last, sampled=sampled)

    def _prompt(self, messages: Sequence[Message]) -> list[int]:
        where = f"dialogue {self._dialogue}"
        if not (self._ids and self._continues and self._keeps_reply(messages, where)):
            return self._chat.prompt(messages, where=where)
        after = after_reply(self._chat, messages, where=where)
        ended = self._ids[-1:] == after[:1]
        return [*self._ids, *(after[1:] if ended else after)]

    def _keeps_reply(self, messages: Sequence[Message], where: str) -> bool:
        """Return True if the chat template renders the last reply unchanged, including its thoughts."""
        text = self._chat.render(_with_reply(messages, self._last), where=where)
        return self._last.strip() in text


def _with_reply(messages: Sequence[Message], text: str) -> list[Message]:
    """Return the messages with `text` in place of the agent's last reply, which is the second-to-last message."""
    return [*messages[:-2], Message(role="assistant", content=text), messages[-1]]


def after_reply(chat: Chat, messages: Sequence[Message], *, where: str) -> list[int]:
    """Return the tokens that the template writes between the last reply and the next reply.

    These tokens include the human's message, which is the last of `messages`.
    """
    rest = chat.render(_with_reply(messages, PROBE), where=where).rpartition(PROBE)[2]
    ids: list[int] = chat.tokenizer(rest, add_special_tokens=False).input_ids
    return ids


def continues(chat: Chat, system: str) -> bool:
    """Return True if each prompt begins with the tokens of the previous prompt and its reply.

    The test uses a reply without thoughts. Raises DataError if the template refuses the messages.
    """
    where = "a question, a reply and a question"
    first = [Message(role="system", content=system)] if system else []
    first = [*first, Message(role="user", content="One.")]
    both = [*first, Message(role="assistant", content=PROBE), Message(role="user", content="Two.")]
    prompt, whole = chat.prompt(first, where=where), chat.prompt(both, where=where)
    return [*prompt, *chat.encode(PROBE), *after_reply(chat, both, where=where)] == whole
