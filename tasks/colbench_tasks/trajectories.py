"""The official dialogues for training: 15,000 by Llama-3.1-8B-Instruct, three for each of 5,000 tasks.

`official_trajectories()` reads them one by one from the file of the official dataset (436 MB), wherever
`colbench_tasks.official` finds it; `read_trajectories` reads any file in that schema. The file lists all tasks once,
then all again: what belongs together has the same `task.hash`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from colbench.errors import DataError
from colbench.task import Task
from colbench_tasks.hub import tell_licence
from colbench_tasks.official import LICENCE, find, task_of
from colbench_tasks.rows import Row, convert_rows, read_rows
from colbench_tasks.schema import BackendRow, FrontendRow, MessageRow, TrajectoryRow, fit

FILE = "colbench_code_offline_15k_llama8b.jsonl"


class RecordedTurn(Struct, frozen=True, kw_only=True):
    """One reply of the agent, as it was sampled, and what the human said to it."""

    prompt: str
    """The whole prompt as the sampler got it, chat template applied; empty where it was not recorded."""
    raw: str
    """The completion, without the end-of-sequence token."""
    said: str
    """What the human saw of it."""
    human: str | None
    """The human's reply; None on the last turn."""


class Trajectory(Struct, frozen=True, kw_only=True):
    """A recorded dialogue. The human's first message is `task.request`."""

    task: Task
    turns: tuple[RecordedTurn, ...]
    """At least one."""
    answer: str
    """Empty where there is none."""
    reward: float | None
    """As the file has it, by the released scorer, and worth as much; None where the file has none."""
    place: str
    """File and line or row."""


def official_trajectories(
    *, limit: int | None = None, malformed: list[str] | None = None
) -> Iterator[Trajectory]:
    """The official dialogues, or the first `limit`. Raises as `read_trajectories` and `official.find` do."""
    path = find(FILE)
    tell_licence(LICENCE)
    yield from read_trajectories(path, limit=limit, malformed=malformed)


def read_trajectories(
    path: Path, *, limit: int | None = None, malformed: list[str] | None = None
) -> Iterator[Trajectory]:
    """The dialogues of a file, JSON lines (also gzip) or Parquet, one at a time.

    Raises DataError naming the row and what is wrong with it; with a list `malformed` such rows are named there and
    left out.
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
        raise DataError(f"`dialogue_history` does not go from user to assistant in turn: {roles}")
    replies, answers = messages[1::2], messages[2::2]
    for number, reply in enumerate(replies):
        yield RecordedTurn(
            prompt=reply.input or "",
            raw=reply.content if reply.output is None else reply.output,
            said=reply.content,
            human=answers[number].content if number < len(answers) else None,
        )
