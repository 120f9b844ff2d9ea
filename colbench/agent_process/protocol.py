"""The messages between ColBench and an agent outside its process: `colbench-agent/1`, over standard streams or HTTP.

docs/agent-protocol.md describes them in prose, `colbench_agents/openapi.json` in machine-readable form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from colbench.errors import AgentError, ColBenchError, EndpointError, Kind, UserError
from colbench.interfaces import Episode
from colbench.messages import Delivery, Message, NotNegative, Role, Sampled, Usage, clean
from colbench.models.pictures import data_url

PROTOCOL = "colbench-agent/1"
MAX_LINE = 4 * 1024 * 1024
"""Maximum size in bytes of a line from an agent or, over HTTP, of a response body."""
SHOWN = 200
"""Maximum number of bytes of an agent's message that an error quotes."""

SAYS = "it says: "
"""Text before the agent's own words in an error message."""

Seconds = Annotated[float, Meta(ge=0)]


class EpisodeFacts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Identity and limits of one dialogue, for its agent; see `colbench.interfaces.Episode`."""

    id: str
    seed: int
    max_turns: int
    domain: str
    record_tokens: bool = False
    """True if replies must carry their tokens; sent only to agents with `records_tokens`."""


class Said(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of the dialogue."""

    role: Role
    """`user` is the human, `assistant` the agent."""
    content: str
    images: tuple[str, ...] = ()
    """PNG pictures as data URLs; only an agent that accepts images receives them."""


class Start(Struct, frozen=True, kw_only=True, tag="start"):
    """To the agent: a dialogue starts."""

    protocol: str = PROTOCOL
    episode: EpisodeFacts


class Enter(Struct, frozen=True, kw_only=True, tag="enter"):
    """To the host of a Python agent: the run starts; `entered` or `error` is expected."""


class Messages(Struct, frozen=True, kw_only=True, tag="messages", omit_defaults=True):
    """To the agent: the whole dialogue so far, ending with the human's message; a reply is expected."""

    episode: str
    messages: tuple[Said, ...]
    seconds: Seconds | None = None
    """The seconds left of the dialogue's time limit; None if the dialogue has no time limit."""


class End(Struct, frozen=True, kw_only=True, tag="end"):
    """To the agent: a dialogue is over; no answer is expected."""

    episode: str


class Ready(Struct, frozen=True, kw_only=True, tag="ready"):
    """First message from the agent: its identity and its abilities."""

    protocol: str
    name: str
    version: str = ""
    concurrent: bool = False
    """True if the agent can have several dialogues at a time."""
    accepts_images: bool = False
    domains: tuple[str, ...] | None = None
    """The domains that the agent supports; null if it supports every domain."""
    records_tokens: bool = False
    """True if the agent's replies can carry their tokens (`sampled`)."""
    single_process: str = ""
    """The reason why one process of ColBench must run all dialogues; "" if several processes may share them."""
    description: dict[str, str] = {}
    """Further description for the record; for a Python agent, its class, its source, and its own description."""
    domain_descriptions: dict[str, dict[str, str] | str] = {}
    """For each domain, the agent's further description in runs of that domain, or an error message."""


class Entered(Struct, frozen=True, kw_only=True, tag="entered"):
    """From the host of a Python agent: the agent's context is open, and dialogues may begin."""


class Spared(Struct, frozen=True, kw_only=True, tag="spared"):
    """From the agent: seconds of a pending reply that are not the agent's time, such as a wait for a model server."""

    episode: str
    seconds: Seconds


class Learned(Struct, frozen=True, kw_only=True, tag="learned"):
    """From the host of a Python agent: the properties of the model and its server that the agent has found so far."""

    sentences: tuple[str, ...]


class Waiting(Struct, frozen=True, kw_only=True, tag="waiting"):
    """From the host of a Python agent: one sentence for each model server that the agent currently waits for."""

    sentences: tuple[str, ...]


class Tokens(Struct, frozen=True, kw_only=True):
    """The numbers of tokens and requests that a reply took, as counted by a model server."""

    prompt_tokens: NotNegative = 0
    completion_tokens: NotNegative = 0
    requests: NotNegative = 1


class Reply(Struct, frozen=True, kw_only=True, tag="reply"):
    """From the agent: its next message."""

    episode: str
    content: str
    usage: Tokens | None = None
    thoughts: str = ""
    """The agent's thoughts before its message; they are stored but not shown to the human."""
    delivery: Delivery | None = None
    """How a model server delivered the reply."""
    sampled: Sampled | None = None
    """The tokens of the reply, if they are recorded."""


class Error(Struct, frozen=True, kw_only=True, tag="error", omit_defaults=True):
    """From the agent: it gives up on a dialogue, or cannot start.

    The agent sends this message instead of a reply or `ready`.
    """

    episode: str = ""
    """The dialogue that the error concerns; "" if the error is not about a dialogue."""
    message: str
    retry: bool = False
    """True if a server that the agent needs did not answer: the dialogue stays unscored and is run again later."""
    kind: Kind = "exception"
    """The kind of failure."""
    stop: bool = False
    """True if the run must stop because the user has to fix the cause, such as a rejected API key."""


ToAgent = Start | Enter | Messages | End
FromAgent = Ready | Entered | Spared | Learned | Waiting | Reply | Error
_DECODER: msgspec.json.Decoder[FromAgent] = msgspec.json.Decoder(FromAgent)
_REQUESTS: msgspec.json.Decoder[ToAgent] = msgspec.json.Decoder(ToAgent)


def start(episode: Episode) -> Start:
    """Return the message that starts a dialogue."""
    return Start(episode=EpisodeFacts(**msgspec.structs.asdict(episode)))


def messages(episode: str, dialogue: Sequence[Message], seconds: float | None = None) -> Messages:
    """Return the message that requests a reply; `seconds` is the rest of the dialogue's time limit (None: no limit)."""
    said = tuple(
        Said(role=each.role, content=clean(each.content), images=tuple(map(data_url, each.images)))
        for each in dialogue
    )
    return Messages(episode=episode, messages=said, seconds=seconds)


def encode(message: ToAgent | FromAgent) -> bytes:
    """Return a message as one line of JSON, with its newline."""
    return msgspec.json.encode(message) + b"\n"


def read_ready(line: bytes, quoted: str = SAYS) -> Ready:
    """Read the agent's first message, which must be `ready`.

    Raises AgentError if the message is invalid, is of another kind, or has another protocol version. If the message is
    an `error`, raises the exception that `as_error(error, quoted)` returns.
    """
    ready = decode(line)
    if isinstance(ready, Error):
        raise as_error(ready, quoted)
    if not isinstance(ready, Ready):
        raise AgentError(
            f"its first message must be `ready`; it sent {_shown(line)}", kind="malformed"
        )
    if ready.protocol != PROTOCOL:
        raise AgentError(
            f"its protocol is {ready.protocol!r}, but this ColBench needs {PROTOCOL!r}",
            kind="malformed",
        )
    return ready


def read_request(line: bytes) -> ToAgent:
    """Read a message from ColBench to an agent."""
    return _REQUESTS.decode(line)


def read_answer(line: bytes) -> Reply | Error:
    """Read the agent's answer to a request. Raises AgentError if the answer is neither a reply nor an error."""
    answer = decode(line)
    if not isinstance(answer, Reply | Error):
        tag = answer.__struct_config__.tag
        raise AgentError(f"it sent `{tag}` instead of `reply` or `error`", kind="malformed")
    return answer


def as_message(answer: Reply | Error, quoted: str = SAYS) -> Message:
    """Convert a Reply to a Message; raise an Error as an exception whose text begins with `quoted`."""
    if isinstance(answer, Error):
        raise as_error(answer, quoted)
    counts = answer.usage
    usage = Usage(**msgspec.structs.asdict(counts)) if counts else None
    return Message(
        role="assistant",
        content=answer.content,
        thoughts=answer.thoughts,
        usage=usage,
        delivery=answer.delivery,
        sampled=answer.sampled,
    )


def as_error(error: Error, quoted: str = SAYS) -> ColBenchError:
    """Return an agent's error as a UserError, EndpointError or AgentError whose text begins with `quoted`.

    If `quoted` is not empty, a UserError's text also names the flag `--agent`. Otherwise, the agent's own message
    already names this flag.
    """
    text = quoted + error.message
    if error.stop:
        return UserError(f"--agent: {text}" if quoted else text)
    if error.retry:
        kind = "server_error" if error.kind == "exception" else error.kind
        return EndpointError(text, kind=kind)
    return AgentError(text, kind=error.kind)


def decode(line: bytes) -> FromAgent:
    """Read a message from an agent. Raises AgentError if `line` is not a valid message."""
    if not line.strip():
        raise AgentError("it sent an empty line or body instead of a message", kind="malformed")
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
        raise AgentError(
            f"it sent an invalid message, {cause}: {_shown(line)}", kind="malformed"
        ) from cause


def _shown(line: bytes) -> str:
    more = " …" if len(line) > SHOWN else ""
    return line[:SHOWN].decode("utf-8", "replace").strip() + more
