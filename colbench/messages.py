"""Messages between the agent and the human, with their token counts and the details of their delivery."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

Role = Literal["system", "user", "assistant"]
"""Role in a dialogue: the human is `user` and the agent is `assistant`. The prompt of a model is `system`."""

ANSWER_MARKER = "I WANT TO ANSWER:"
"""Marker that ends the dialogue; the text after it is the answer."""
PUBLIC_MARKER = "OUTPUT:"
"""Marker in a reply: only the text after it is shown to the human, or used as an answer."""


NotNegative = Annotated[int, Meta(ge=0)]


class Usage(Struct, frozen=True, kw_only=True):
    """Token counts of answered requests, from the model server; `requests` is the number of these requests."""

    prompt_tokens: NotNegative = 0
    completion_tokens: NotNegative = 0
    requests: NotNegative = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            requests=self.requests + other.requests,
        )


class Sampled(Struct, frozen=True, kw_only=True):
    """The tokens of one reply as the model server processed them, which training must reproduce exactly."""

    prompt: tuple[int, ...]
    """Token IDs of everything that the model was given."""
    ids: tuple[int, ...]
    """Token IDs of the message, including the token that ended it."""
    logprobs: tuple[float, ...]
    """Natural log-probability of each token, as the server reports it (vLLM: before temperature)."""


class Delivery(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The delivery of a reply by a model server."""

    finish_reason: str = ""
    """The reason given by the server, such as `stop`, `length`, `content_filter` or `tool_calls`; "" without a
    reason."""
    refused: bool = False
    """True if the model declined to answer, in the field `refusal` of its message."""
    request_id: str = ""
    """The provider's ID of the request, for inquiries to its support."""
    retries: int = 0
    """Number of requests that failed before the successful one."""
    waited: float = 0.0
    """Seconds before the answered request was sent: waits for a slot, failed requests, and the waits after them."""

    @property
    def cut(self) -> bool:
        """True if the reply ended at a limit on its length."""
        return self.finish_reason in {"length", "max_tokens", "model_length"}

    @property
    def filtered(self) -> bool:
        """True if the provider's filter ended the reply."""
        return self.finish_reason in {"content_filter", "content-filter", "safety", "SAFETY"}


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message. `usage` and `delivery` are None if no model server was called or the server did not report them."""

    role: Role
    content: str
    """The original text. Models that think aloud may include their thoughts in it; see `split_thoughts`."""
    thoughts: str = ""
    """The model's thoughts if the server returns them separately from the text. The other speaker never sees them."""
    usage: Usage | None = None
    delivery: Delivery | None = None
    sampled: Sampled | None = None
    """The tokens of this message, if tokens are recorded."""
    images: tuple[bytes, ...] = ()
    """Pictures (PNG) that accompany the text; only an agent that sets `accepts_images` receives them."""


def flaw(message: Message) -> str:
    """Return the reason why a message cannot be written to a file and read back; "" if it can.

    A check is needed because a Message from other code is not validated when it is created, and may contain NaN, which
    JSON lacks. `content` and `images` are not checked.
    """
    for name, kind in (("usage", Usage), ("delivery", Delivery), ("sampled", Sampled)):
        value = getattr(message, name)
        if not isinstance(value, kind | None):
            return f"`{name}` is {type(value).__name__}, not {kind.__name__}"
        try:
            msgspec.json.decode(msgspec.json.encode(value), type=kind | None)
        except (msgspec.MsgspecError, TypeError, UnicodeEncodeError) as cause:
            return f"`{name}`: {cause}"
    thoughts = type(message.thoughts).__name__
    return "" if isinstance(message.thoughts, str) else f"`thoughts` is {thoughts}, not str"


OPENING = re.compile(r"\s*(?:<(think|thinking)>|\[THINK\])", re.IGNORECASE)
CLOSING = re.compile(r"</(?:think|thinking)>|\[/THINK\]", re.IGNORECASE)


def split_thoughts(text: str) -> tuple[str, str]:
    """Return the thoughts at the beginning of a reply, and the text after them.

    Thoughts are in `<think>`, `<thinking>` or `[THINK]` tags. The opening tag may be missing, because it may belong to
    the prompt. The closing tag is missing if the reply was cut off during the thoughts; the text after them is then
    empty. If both tags are missing, the reply has no thoughts.
    """
    opening = OPENING.match(text)
    begin = opening.end() if opening else 0
    closing = CLOSING.search(text, begin)
    if closing:
        return text[begin : closing.start()].strip(), text[closing.end() :].lstrip()
    return (text[begin:].strip(), "") if opening else ("", text)


def split_reply(text: str) -> tuple[str, str, str]:
    """Return three parts of an agent's reply: the thoughts, the text before `PUBLIC_MARKER`, and the public part.

    The human sees only the public part, which includes the answer. Without the marker, the second part is "".
    """
    thoughts, words = split_thoughts(text)
    private, marker, public = words.partition(PUBLIC_MARKER)
    return (thoughts, private.strip(), public) if marker else (thoughts, "", words)


def clean(text: str) -> str:
    """Replace lone surrogates, which files and servers do not accept, with question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def with_newest_picture(dialogue: Sequence[Message]) -> list[Message]:
    """Return the dialogue with only its newest pictures, because each picture costs thousands of tokens."""
    newest = max((n for n, message in enumerate(dialogue) if message.images), default=-1)
    return [
        message if n == newest else replace(message, images=())
        for n, message in enumerate(dialogue)
    ]
