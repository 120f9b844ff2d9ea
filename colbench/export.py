"""Tasks as files and as a `datasets.Dataset`.

The formats `jsonl` and `parquet` contain everything, including facts, and can be read back as the same tasks. The
format `official` is JSON lines with only the columns of the official files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from colbench.task import Task, row_from_task

if TYPE_CHECKING:
    import datasets

Write = Callable[[Path, Iterable[Task]], None]


def encode_lines(tasks: Iterable[Task]) -> Iterator[bytes]:
    """Yield the tasks as JSON lines, with all their data."""
    return _encode(map(row_from_task, tasks))


def official_row(task: Task) -> dict[str, Any]:
    """Return a task as a row with the columns of the official files; its test calls are named `test1`, `test2`, etc."""
    hidden = task.hidden
    row: dict[str, Any] = {"ground_truth": hidden.reference, "problem_description": task.request}
    if hidden.tests:
        row["test_cases"] = row_from_task(task)["test_cases"]
        row["hidden_information"] = hidden.information
    return row


def table_row(task: Task) -> dict[str, Any]:
    """Return a task as a row with all columns of ColBench's schema; a value that the task lacks is empty.

    `domain` is also empty if it follows from the other columns, as in the official files.
    """
    row = row_from_task(task)
    facts = [
        {field: getattr(fact, field) for field in fact.__struct_fields__}
        for fact in task.hidden.facts
    ]
    return {
        "id": task.id,
        "domain": row.get("domain", ""),
        "family": task.family,
        "problem_description": task.request,
        "ground_truth": task.hidden.reference,
        "test_cases": row.get("test_cases", {}),
        "hidden_information": task.hidden.information,
        "facts": facts,
    }


def to_dataset(tasks: Iterable[Task]) -> datasets.Dataset:
    """Return the tasks as a `datasets.Dataset`, one row for each task, with the columns of `table_row`.

    Columns that are empty for all tasks are left out, because Parquet cannot store an empty record.
    """
    from datasets import Dataset

    rows = list(map(table_row, tasks))
    used = [name for name in (rows[0] if rows else ()) if any(row[name] for row in rows)]
    return Dataset.from_dict({name: [row[name] for row in rows] for name in used})


def write_jsonl(path: Path, tasks: Iterable[Task]) -> None:
    """Write a file of JSON lines."""
    with path.open("wb") as file:
        file.writelines(encode_lines(tasks))


def write_official(path: Path, tasks: Iterable[Task]) -> None:
    """Write a file of JSON lines with the official columns."""
    with path.open("wb") as file:
        file.writelines(_encode(map(official_row, tasks)))


def write_parquet(path: Path, tasks: Iterable[Task]) -> None:
    """Write a Parquet file."""
    from datasets import disable_progress_bars

    disable_progress_bars()
    to_dataset(tasks).to_parquet(str(path))


def compressed(write: Write) -> Write:
    """Return a variant of `write` that compresses the file with gzip; equal tasks give equal bytes."""

    def write_compressed(path: Path, tasks: Iterable[Task]) -> None:
        import gzip

        write(path, tasks)
        path.write_bytes(gzip.compress(path.read_bytes(), mtime=0))

    return write_compressed


def _encode(rows: Iterable[Any]) -> Iterator[bytes]:
    return (msgspec.json.encode(row) + b"\n" for row in rows)
