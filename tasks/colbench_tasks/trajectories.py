"""The official training dialogues: 15,000 dialogues of Llama-3.1-8B-Instruct, three for each of 5,000 tasks.

`official_trajectories()` reads them one by one from the file of the official dataset (436 MB), which
`colbench_tasks.official` finds; `read_trajectories` reads any file in that schema. The dialogues of a task are not
adjacent in the file, because the file repeats the whole list of tasks; but they have the same `task.hash`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from colbench.errors import DataError
from colbench.task import Task
from colbench_tasks.hub import tell_license
from colbench_tasks.official import LICENSE, find, task_of
from colbench_tasks.rows import Row, convert_rows, read_rows
from colbench_tasks.schema import BackendRow, FrontendRow, MessageRow, TrajectoryRow, fit

FILE = "colbench_code_offline_15k_llama8b.jsonl"


class RecordedTurn(Struct, frozen=True, kw_only=True):
    """One reply of the agent, as sampled, and the human's reply to it."""

    prompt: str
    """The sampler's whole prompt, with the chat template applied; empty if the prompt was not recorded."""
    raw: str
    """The completion without the end-of-sequence token. If the completion was not recorded, this text equals `said`."""
    said: str
    """The part of the reply that the human saw."""
    human: str | None
    """The human's reply; None on the last turn."""


class Trajectory(Struct, frozen=True, kw_only=True):
    """A recorded dialogue. The human's first message is `task.request`."""

    task: Task
    turns: tuple[RecordedTurn, ...]
    """The turns, at least one."""
    answer: str
    """The answer; empty if the agent gave none."""
    reward: float | None
    """The reward in the file, computed by the scorer that the paper's authors released; None if the file lacks it."""
    place: str
    """The file and the number of its line or row, for error messages."""


def official_trajectories(
    *, limit: int | None = None, malformed: list[str] | None = None
) -> Iterator[Trajectory]:
    """Yield the official dialogues, or only the first `limit` dialogues.

    Raises the errors of `read_trajectories` and `official.find`.
    """
    path = find(FILE)
    tell_license(LICENSE)
    yield from read_trajectories(path, limit=limit, malformed=malformed)


def read_trajectories(
    path: Path, *, limit: int | None = None, malformed: list[str] | None = None
) -> Iterator[Trajectory]:
    """Yield the dialogues of a file (JSON lines, also gzip, or Parquet) one at a time.

    Raises DataError, which names the place and the flaw, if the file cannot be read or a row is malformed. If a list
    `malformed` is given, malformed rows are skipped, and their flaws are added to the list.
    """
    yield from convert_rows(
        read_rows(path, limit=limit, malformed=malformed), _trajectory, malformed
    )


def _trajectory(row: Row) -> Trajectory:
    fields = fit(row.fields, TrajectoryRow)
    try:
        task = task_of(fields.task, BackendRow if "test_cases" in fields.task else FrontendRow)
    except DataError as cause:
        raise DataError(f"`task`: {cause}") from cause
    return Trajectory(
        task=task,
        turns=tuple(_turns(fields.dialogue_history)),
        answer=fields.answer or "",
        reward=fields.reward,
        place=row.place,
    )


def _turns(messages: Sequence[MessageRow]) -> Iterator[RecordedTurn]:
    expected = ["user", "assistant"] * (len(messages) // 2)
    if not messages or [message.role for message in messages] != expected:
        roles = ", ".join(message.role for message in messages) or "no messages"
        raise DataError(
            f"`dialogue_history` must alternate user and assistant and end with assistant, got: {roles}"
        )
    replies, answers = messages[1::2], messages[2::2]
    for number, reply in enumerate(replies):
        yield RecordedTurn(
            prompt=reply.input or "",
            raw=reply.content if reply.output is None else reply.output,
            said=reply.content,
            human=answers[number].content if number < len(answers) else None,
        )
