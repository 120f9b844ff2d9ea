"""What ColBench and an agent outside it say to each other: `colbench-agent/1`, over stdin and stdout or over HTTP.

docs/agent-protocol.md tells it for people, `openapi.json` beside this file for programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from colbench.errors import AgentError, EndpointError
from colbench.interfaces import Episode
from colbench.messages import Message, Role, Usage, clean
from colbench.models.pictures import data_url

PROTOCOL = "colbench-agent/1"
MAX_LINE = 4 * 1024 * 1024
"""Bytes of one line, or of one body over HTTP, that an agent may send."""
SHOWN = 200
"""Bytes of what an agent sent that a failure's reason quotes."""

NotNegative = Annotated[int, Meta(ge=0)]


class EpisodeFacts(Struct, frozen=True, kw_only=True):
    """What an agent is told about one dialogue beside its messages; see `colbench.interfaces.Episode`."""

    id: str
    seed: int
    max_turns: int
    domain: str


class Said(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of the dialogue."""

    role: Role
    """`user` is the human, `assistant` the agent."""
    content: str
    images: tuple[str, ...] = ()
    """PNG pictures as data URLs; only an agent that accepts images is sent any."""


class Start(Struct, frozen=True, kw_only=True, tag="start"):
    """To the agent: a dialogue begins."""

    protocol: str = PROTOCOL
    episode: EpisodeFacts


class Messages(Struct, frozen=True, kw_only=True, tag="messages"):
    """To the agent: the whole dialogue so far, its last message the human's; a reply is due."""

    episode: str
    messages: tuple[Said, ...]


class End(Struct, frozen=True, kw_only=True, tag="end"):
    """To the agent: a dialogue is over; nothing is due."""

    episode: str


class Ready(Struct, frozen=True, kw_only=True, tag="ready"):
    """From the agent, first of all: who it is and what it can do."""

    protocol: str
    name: str
    version: str = ""
    concurrent: bool = False
    """Whether it has several dialogues at a time."""
    accepts_images: bool = False
    domains: tuple[str, ...] | None = None
    """What it is for; null: every domain."""


class Tokens(Struct, frozen=True, kw_only=True):
    """What a reply cost, as a model server counted it."""

    prompt_tokens: NotNegative = 0
    completion_tokens: NotNegative = 0
    requests: NotNegative = 1


class Reply(Struct, frozen=True, kw_only=True, tag="reply"):
    """From the agent: its next message."""

    episode: str
    content: str
    usage: Tokens | None = None


class Error(Struct, frozen=True, kw_only=True, tag="error"):
    """From the agent, in place of a reply: it gives up on this dialogue."""

    episode: str
    message: str
    retry: bool = False
    """A server that it depends on did not answer: leave the dialogue unscored, to be had again."""


ToAgent = Start | Messages | End
FromAgent = Ready | Reply | Error
_DECODER: msgspec.json.Decoder[FromAgent] = msgspec.json.Decoder(FromAgent)


def start(episode: Episode) -> Start:
    """The message that begins a dialogue."""
    return Start(
        episode=EpisodeFacts(
            id=episode.id,
            seed=episode.seed,
            max_turns=episode.max_turns,
            domain=episode.domain,
        )
    )


def messages(episode: str, dialogue: Sequence[Message]) -> Messages:
    """The message that asks for a reply."""
    said = tuple(
        Said(role=each.role, content=clean(each.content), images=tuple(map(data_url, each.images)))
        for each in dialogue
    )
    return Messages(episode=episode, messages=said)


def encode(message: ToAgent) -> bytes:
    """One line of JSON, its newline included."""
    return msgspec.json.encode(message) + b"\n"


def read_ready(line: bytes) -> Ready:
    """The agent's first message. Raises AgentError when it is none, or of another version of the protocol."""
    ready = _decode(line)
    if not isinstance(ready, Ready):
        raise AgentError(
            f"its first message must be `ready`; it sent {_shown(line)}", kind="malformed"
        )
    if ready.protocol != PROTOCOL:
        raise AgentError(
            f"it speaks {ready.protocol!r}; this ColBench speaks {PROTOCOL!r}", kind="malformed"
        )
    return ready


def read_answer(line: bytes) -> Reply | Error:
    """What the agent says when it was asked. Raises AgentError when it is neither reply nor error."""
    answer = _decode(line)
    if isinstance(answer, Ready):
        raise AgentError("it sent `ready` where `reply` or `error` was due", kind="malformed")
    return answer


def as_message(answer: Reply | Error) -> Message:
    """The reply as a message. Raises AgentError, or EndpointError where it asks for a retry, when it is an error."""
    if isinstance(answer, Error):
        if answer.retry:
            raise EndpointError(f"it says: {answer.message}", kind="server_error")
        raise AgentError(f"it says: {answer.message}")
    counts = answer.usage
    usage = Usage(**msgspec.structs.asdict(counts)) if counts else None
    return Message(role="assistant", content=answer.content, usage=usage)


def _decode(line: bytes) -> FromAgent:
    if not line.strip():
        raise AgentError("it sent no message, but an empty line or body", kind="malformed")
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
        raise AgentError(
            f"it sent what is no message, {cause}: {_shown(line)}", kind="malformed"
        ) from cause


def _shown(line: bytes) -> str:
    more = " …" if len(line) > SHOWN else ""
    return line[:SHOWN].decode("utf-8", "replace").strip() + more
