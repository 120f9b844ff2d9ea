"""The user's own dialogues: JSONL files with one dialogue per line, as in docs/own-dialogues.md.

A line has `messages` and a `reward`, and may have `task`, `privileged` and `domain`. The messages are used unchanged.
So an agent's prompt contains each earlier message as it is in the file, except for parts that the chat template leaves
out.
"""

from __future__ import annotations

import hashlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec
from msgspec import Struct

from colbench.config_errors import explain
from colbench.errors import DataError, UserError
from colbench.messages import ANSWER_MARKER, Message, Role
from colbench.registry import get_domain
from sweet_rl_trainer.data.trajectories import Trajectory

FOLLOWS: dict[Role, Role] = {"system": "user", "user": "assistant", "assistant": "user"}
"""The role of the message that must follow a message of each role."""

OTHER_NAMES = {"conversations": "messages", "from": "role", "text": "content", "value": "content"}
"""Keys of other formats, each mapped to the key that this format uses."""


class Said(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message in a file of the user's own dialogues."""

    role: Role
    content: str


class Line(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A dialogue in a file."""

    messages: tuple[Said, ...]
    reward: float
    """The reward: higher is better, and 1 or more is a success."""
    task: str = ""
    """Name of the task; dialogues with the same task are compared.

    By default, the first user message identifies the task.
    """
    privileged: str = ""
    """The information c that a critic may see and the agent may not."""
    domain: str = ""
    """The domain whose wording introduces c; by default, a general wording is used."""


def read_own(path: Path) -> Iterator[Trajectory]:
    """Yield the trajectories of a file; skip empty lines.

    Raises DataError if the file cannot be read or contains no dialogue, or if a line is wrong. The message names the
    file and, for a wrong line, its number and the fix.
    """
    try:
        lines = path.read_bytes().removeprefix(BOM_UTF8).splitlines()
    except OSError as cause:
        raise DataError(f"{path}: cannot be read: {cause.strerror}") from cause
    if not any(map(bytes.strip, lines)):
        raise DataError(f"{path}: contains no dialogue; write one JSON object per line")
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _trajectory(_decoded(line, f"{path}:{number}"), f"line {number}")


def _decoded(content: bytes, place: str) -> Line:
    values = _values(content, place)
    try:
        line = msgspec.convert(values, Line, strict=True)
    except msgspec.ValidationError as cause:
        problem = explain(cause, Line, values, quoted=True)
        name = OTHER_NAMES.get(problem.key.rpartition(".")[2])
        hint = f"; use the key `{name}`" if name else ""
        raise DataError(f"{place}: {problem}{hint}") from cause
    try:
        _check(line)
    except UserError as cause:
        raise DataError(f"{place}: {cause}") from cause
    return line


def _values(content: bytes, place: str) -> object:
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
        raise DataError(
            f"{place}: {cause}; write one JSON object per line, with finite numbers"
        ) from cause


def _check(line: Line) -> None:
    """Raise UserError unless the messages are in a valid order and the domain is installed.

    A valid order is: at most one system message, then user and assistant messages in turn, ending with the assistant's.
    """
    roles = [each.role for each in line.messages]
    if set(roles) <= {"system"}:
        what = "only a system message" if roles else "empty"
        raise UserError(f"messages: {what}; a dialogue needs a user and an assistant message")
    if roles[0] == "assistant":
        raise UserError(
            "messages[0]: the first message is the assistant's; put the user's message before it"
        )
    for place, (one, other) in enumerate(pairwise(roles), start=1):
        if other != FOLLOWS[one]:
            raise UserError(
                f"messages[{place}]: the role is {other}, but must be {FOLLOWS[one]} after a message of the {one}; "
                "after at most one system message, user and assistant must take turns"
            )
    if roles[-1] != "assistant":
        raise UserError(
            f"messages: the last message is the {roles[-1]}'s; remove it, or add the assistant's "
            "reply"
        )
    if line.domain:
        try:
            get_domain(line.domain)
        except UserError as cause:
            raise UserError(f"domain: {cause}") from cause


def _trajectory(line: Line, name: str) -> Trajectory:
    messages = tuple(Message(role=each.role, content=each.content) for each in line.messages)
    said = tuple(each.content for each in messages if each.role == "assistant")
    task = line.task or next(each.content for each in messages if each.role == "user")
    return Trajectory(
        id=name,
        task_id=line.task or name,
        task_hash=hashlib.sha256(task.encode()).hexdigest(),
        domain=line.domain,
        privileged=line.privileged,
        messages=messages,
        said=said,
        reward=line.reward,
        ended_by="answer" if ANSWER_MARKER in said[-1] else "unknown",
    )
