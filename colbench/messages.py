"""What is said: messages between the two sides of a dialogue, and what saying them cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

Role = Literal["system", "user", "assistant"]
"""In a dialogue the human is `user` and the agent is `assistant`."""

ANSWER_MARKER = "I WANT TO ANSWER:"
"""Ends the dialogue; the text after it is the answer."""
PUBLIC_MARKER = "OUTPUT:"
"""If a reply holds it, only what follows is shown to the human, or read as an answer."""


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens as the model server counted them, over `requests` answered requests."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    requests: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            requests=self.requests + other.requests,
        )


class Sampled(Struct, frozen=True, kw_only=True):
    """The tokens of one reply as the model server saw them: what training has to be exact about."""

    prompt: tuple[int, ...]
    """Ids of everything that the model was given."""
    ids: tuple[int, ...]
    """Ids of what it said, the token that ended it included."""
    logprobs: tuple[float, ...]
    """Natural log-probability of each, under the distribution that the server reports (vLLM: before temperature)."""


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message. `usage` is None where no model server was asked or it did not say."""

    role: Role
    content: str
    usage: Usage | None = None
    sampled: Sampled | None = None
    """Where tokens are recorded, those of this message."""
    images: tuple[bytes, ...] = ()
    """Pictures (PNG) that go with the words; only an agent that sets `accepts_images` is handed any."""


def clean(text: str) -> str:
    """The text with lone surrogates, which no file or server takes, replaced by question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def with_newest_picture(dialogue: Sequence[Message]) -> list[Message]:
    """Return the dialogue without all but its newest pictures: each takes thousands of tokens."""
    newest = max((n for n, message in enumerate(dialogue) if message.images), default=-1)
    return [
        message if n == newest else replace(message, images=())
        for n, message in enumerate(dialogue)
    ]
