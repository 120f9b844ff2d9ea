"""The model that is trained, as an agent of the harness whose dialogue is one sequence of tokens.

Each prompt is what the model was given last, what it said, and what the chat template writes after a reply: the end
of the turn, the human's words, the beginning of the next. So no reply is tokenised again, and a gradient is of what
was sampled, after what it was sampled after. One thing differs from `colbench eval`: what the model says in private
stays before it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from msgspec import Struct

from colbench.errors import AgentError, DataError
from colbench.messages import Message, Sampled
from sweet_rl_trainer.data.chat import PROBE, Chat


class Said(Struct, frozen=True, kw_only=True):
    """A sampled reply: its ids, the end of the turn included, and their log-probabilities where they are known."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...] = ()


class Sampler(Protocol):
    """What samples replies; entered for the dialogues of one step."""

    async def __aenter__(self) -> Sampler: ...

    async def __aexit__(self, *error: object) -> None: ...

    async def sample(self, prompt: Sequence[int], dialogue: str) -> Said:
        """A reply to a prompt in tokens. Raises AgentError where there is no room for one."""
        ...

    def left(self) -> None:
        """A dialogue is over."""
        ...


class Episode(Protocol):
    """What the harness says of a dialogue (`colbench.interfaces.Episode`)."""

    @property
    def id(self) -> str: ...  # noqa: D102

    @property
    def domain(self) -> str: ...  # noqa: D102


class Policy:
    """The agent; `prompts` are the system prompts of the domains, "" for none."""

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
        """The agent of one dialogue."""
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
        self._ids: list[int] = []

    async def reply(self, dialogue: Sequence[Message]) -> Message:
        prompt = self._prompt([*self._system, *dialogue])
        said = await self._sampler.sample(prompt, self._dialogue)
        if not said.ids:
            raise AgentError("the model said nothing")
        self._ids = [*prompt, *said.ids]
        text: str = self._chat.tokenizer.decode(
            list(said.ids), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        sampled = Sampled(prompt=tuple(prompt), ids=said.ids, logprobs=said.logprobs)
        return Message(role="assistant", content=text, sampled=sampled)

    def _prompt(self, messages: Sequence[Message]) -> list[int]:
        if not self._ids:
            return self._chat.prompt(messages, where=f"dialogue {self._dialogue}")
        after = after_reply(self._chat, messages, where=f"dialogue {self._dialogue}")
        ended = self._ids[-1:] == after[:1]
        return [*self._ids, *(after[1:] if ended else after)]


def after_reply(chat: Chat, messages: Sequence[Message], *, where: str) -> list[int]:
    """What the template writes after the last reply, up to the next; the last of the messages is the human's."""
    marked = [*messages[:-2], Message(role="assistant", content=PROBE), messages[-1]]
    rest = chat.render(marked, where=where).rpartition(PROBE)[2]
    ids: list[int] = chat.tokenizer(rest, add_special_tokens=False).input_ids
    return ids


def check_template(chat: Chat, system: str) -> None:
    """Raise DataError unless a template's prompts continue one another, token by token."""
    where = "a question, a reply and a question"
    first = [Message(role="system", content=system)] if system else []
    first = [*first, Message(role="user", content="One.")]
    both = [*first, Message(role="assistant", content=PROBE), Message(role="user", content="Two.")]
    prompt, whole = chat.prompt(first, where=where), chat.prompt(both, where=where)
    if [*prompt, *chat.encode(PROBE), *after_reply(chat, both, where=where)] != whole:
        raise DataError(
            f"{chat.name}: its chat template writes a conversation otherwise when it goes on, so a dialogue is not one "
            "sequence of tokens, which GRPO needs; give it a template whose prompts continue one another"
        )
