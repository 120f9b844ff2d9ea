"""Code shared by the rules for HTTP and the rules for stdio: messages to send, checks of replies, and findings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import msgspec

from colbench.agent_process.protocol import (
    PROTOCOL,
    Messages,
    Ready,
    Reply,
    as_message,
    messages,
    read_answer,
    start,
)
from colbench.errors import AgentError, EndpointError
from colbench.interfaces import Episode, Rule
from colbench.messages import Message
from colbench.registry import get_domain
from colbench.task import BACKEND

PAGE = "docs/agent-protocol.md"
READY = "Says `ready`"
REPLIES = "Replies to requests"
NAMES = "Names the dialogue of each reply"
SAME = "Describes itself the same way every time"
UNKNOWN = "Ignores unknown fields"
LONG = "Reads messages of any length"
SEVERAL = "Holds several dialogues at a time"
LONG_BYTES = 256 * 1024
LONG_BYTES_WITH_PICTURES = 6 * 1024 * 1024
NOT_CONCURRENT = "it is not `concurrent`"
NOT_LONG = "the check makes messages long with an unknown field, and the agent does not ignore unknown fields"
STRANGE: dict[str, Any] = {"unheard": {"deep": [1, 2.5, None, ""]}, "of": True}
"""Fields that the protocol does not define."""
FIXES = {
    READY: f'Its first message must be {{"type": "ready", "protocol": "{PROTOCOL}", "name": …}}.',
    REPLIES: 'Answer each `messages` with one {"type": "reply", "episode": …, "content": …}.',
    NAMES: "Copy `episode` from the `messages` that the reply answers.",
    SAME: "Do not put values that change by themselves, such as times, into name, version or "
    "abilities.",
    UNKNOWN: "Read only the fields you need, and skip the others.",
    LONG: "Allow lines and bodies of several MB where the JSON is read.",
    SEVERAL: "Keep the state of each dialogue under its `episode`, or leave `concurrent` out.",
}


class Findings:
    """The results of the checks, by the name of the rule. A rule is checked when its result is first requested."""

    def __init__(self) -> None:
        self._found: dict[str, AgentError | EndpointError | str | None] = {}
        self._done: set[Callable[[], Awaitable[None]]] = set()

    @contextmanager
    def about(self, rule: str) -> Iterator[None]:
        """Record an error in the `with` block as a violation of `rule`. A later success does not remove the record."""
        try:
            yield
        except (AgentError, EndpointError) as reason:
            self._found[rule] = self._found.get(rule) or reason
        else:
            self._found.setdefault(rule, None)

    def spare(self, rule: str, why: str) -> None:
        """Record that a rule does not apply, and the reason."""
        self._found[rule] = why

    def broken(self, rule: str) -> bool:
        """Return True if the rule was already found broken."""
        return isinstance(self._found.get(rule), Exception)

    def rule(
        self, name: str, work: Callable[[], Awaitable[None]], *, where: str, **more: Any
    ) -> Rule:
        """Return the rule `name`, which `work` checks. If several rules have the same `work`, `work` runs only once.

        `where`: the rule's section in docs/agent-protocol.md. `more`: further fields of the `Rule`.
        """

        async def probe() -> str | None:
            if work not in self._done:
                self._done.add(work)
                await work()
            found = self._found.get(name, AgentError("an earlier step took too long"))
            if isinstance(found, Exception):
                raise found
            return found

        see = f"{PAGE}, {where}"
        return Rule(
            **{"name": name, "fix": FIXES.get(name, ""), "see": see, "probe": probe, **more}
        )


class Scripted(msgspec.Struct, frozen=True):
    """A dialogue of one request; fields that the protocol does not define can be added to its messages."""

    episode: Episode

    @classmethod
    def of(cls, ready: Ready) -> Scripted:
        """Return a new dialogue in the agent's first domain, or in backend programming if the agent names no domain."""
        domain = (ready.domains or (BACKEND,))[0]
        return cls(Episode(id=f"check-{uuid4().hex[:10]}", seed=7, max_turns=10, domain=domain))

    @property
    def id(self) -> str:
        """The dialogue's id."""
        return self.episode.id

    def start(self, **unknown: Any) -> bytes:
        """Build the `start` message."""
        return _line(start(self.episode), unknown)

    def ask(self, **unknown: Any) -> bytes:
        """Build a `messages` message of the protocol with the human's request and the fields `unknown`."""
        request = get_domain(self.episode.domain).example_request.format(name="add_up")
        said = Message(role="user", content=request)
        return _line(messages(self.id, [said]), unknown)


def reply(line: bytes) -> Reply:
    """Parse a message as a reply.

    Raises AgentError if the message is not a reply. If the message reports a failure, raises that failure.
    """
    answer = read_answer(line)
    as_message(answer)
    if not isinstance(answer, Reply):
        raise AssertionError("an invalid reply raised an error")
    return answer


def named(answer: Reply, *asked: Scripted) -> None:
    """Raise AgentError unless the answer names one of the dialogues in `asked`."""
    ids = [each.id for each in asked]
    if answer.episode not in ids:
        asked_for = " or ".join(repr(each) for each in ids)
        raise AgentError(
            f"its reply names episode {answer.episode!r}, but the request was for episode {asked_for}"
        )


def same(first: Ready, again: Ready) -> None:
    """Raise AgentError if the agent's second description of itself differs from the first."""
    for field in first.__struct_fields__:
        before, now = getattr(first, field), getattr(again, field)
        if before != now:
            raise AgentError(f"its `{field}` was {before!r}, then {now!r}")


def padding(ready: Ready) -> str:
    """Return text that makes a message long: 6 MiB if the agent accepts pictures, else 256 KiB."""
    return "x" * (LONG_BYTES_WITH_PICTURES if ready.accepts_images else LONG_BYTES)


def _line(message: Messages | Any, unknown: dict[str, Any]) -> bytes:
    fields = msgspec.to_builtins(message) | unknown
    return msgspec.json.encode(fields) + b"\n"
