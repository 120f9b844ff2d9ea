"""`colbench tasks export`: write the tasks of a source to a file.

`jsonl` and `parquet` hold everything, facts included, and are read back as the same tasks by `--tasks FILE`;
`official` is JSON lines with the columns of the official files and no others. JSON lines are compressed in a file
whose name ends in .jsonl.gz.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from colbench.cli.files import add_overwrite, written_whole
from colbench.config import RunConfig
from colbench.errors import UserError
from colbench.flags import add_config_flags, read_config
from colbench.selection import find_tasks
from colbench.task import Task, row_from_task

Write = Callable[[Path, Sequence[Task]], None]


def add_to(actions: Any) -> None:
    """Add the action."""
    parser = actions.add_parser("export", help="write a source to a file", description=__doc__)
    parser.add_argument(
        "source", metavar="SOURCE", help="bundled:…, official:…, a file: as for --tasks"
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        required=True,
        help="the file to write: .jsonl, .jsonl.gz or .parquet",
    )
    parser.add_argument(
        "--format",
        choices=tuple(FORMATS),
        help="jsonl: one JSON object a line, everything; parquet: the same as a table; "
        "official: JSON lines without facts, ids and families (default: as FILE ends)",
    )
    add_overwrite(parser)
    add_config_flags(parser, only=("domain", "task_ids", "limit"))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the file, and say what was written and its SHA-256."""
    from colbench.numbers import count

    args.tasks = args.source
    path = Path(args.out).expanduser()
    with written_whole(path, overwrite=args.overwrite) as part:
        write = _writer(path, args.format)
        _, tasks = find_tasks(read_config(args, base=RunConfig()))
        write(part, tasks)
        digest = sha256(part)
    print(f"{path}: {count(len(tasks), 'task')}, SHA-256 {digest}", file=sys.stderr)
    return 0


def sha256(path: Path) -> str:
    """Of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def lines(tasks: Iterable[Task]) -> Iterator[bytes]:
    """The tasks as JSON lines, with everything that there is about them."""
    return _encoded(map(row_from_task, tasks))


def official_row(task: Task) -> dict[str, Any]:
    """A task in the columns of the official files, in their order; its calls are named `test1` and on."""
    hidden = task.hidden
    row: dict[str, Any] = {"ground_truth": hidden.reference, "problem_description": task.request}
    if hidden.tests:
        row["test_cases"] = row_from_task(task)["test_cases"]
        row["hidden_information"] = hidden.information
    return row


def table_row(task: Task) -> dict[str, Any]:
    """A task with all columns of ColBench's schema, each filled."""
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


def _encoded(rows: Iterable[Any]) -> Iterator[bytes]:
    return (msgspec.json.encode(row) + b"\n" for row in rows)


def _writer(path: Path, form: str | None) -> Write:
    """What writes the format, or without one that which the name of the file means.

    Raises UserError if the name means none, or another.
    """
    suffix = next((suffix for suffix in SUFFIXES if path.name.endswith(suffix)), None)
    if suffix is None:
        raise UserError(f"--out {path}: give a name that ends in {', '.join(SUFFIXES)}")
    if form not in (None, *SUFFIXES[suffix]):
        raise UserError(f"--out {path}: --format {form} does not go with {suffix}")
    write = FORMATS[form or SUFFIXES[suffix][0]]
    return partial(_compressed, write) if suffix.endswith(".gz") else write


def _compressed(write: Write, path: Path, tasks: Sequence[Task]) -> None:
    """What is written, compressed in its place: the same bytes whenever and under whatever name."""
    import gzip

    write(path, tasks)
    path.write_bytes(gzip.compress(path.read_bytes(), mtime=0))


def _write_jsonl(path: Path, tasks: Sequence[Task]) -> None:
    with path.open("wb") as file:
        file.writelines(lines(_watched(tasks)))


def _write_official(path: Path, tasks: Sequence[Task]) -> None:
    with path.open("wb") as file:
        file.writelines(_encoded(map(official_row, _watched(tasks))))


def _write_parquet(path: Path, tasks: Sequence[Task]) -> None:
    """Through `datasets`, without the columns that no task has (Parquet cannot hold an empty record)."""
    from datasets import Dataset, disable_progress_bars

    disable_progress_bars()
    rows = list(map(table_row, _watched(tasks)))
    used = [name for name in rows[0] if any(row[name] for row in rows)]
    table = Dataset.from_dict({name: [row[name] for row in rows] for name in used})
    table.to_parquet(str(path))


FORMATS: dict[str, Write] = {
    "jsonl": _write_jsonl,
    "parquet": _write_parquet,
    "official": _write_official,
}
SUFFIXES = {
    ".jsonl": ("jsonl", "official"),
    ".jsonl.gz": ("jsonl", "official"),
    ".parquet": ("parquet",),
}
"""The formats that go with the end of a name; the first is meant where none is named."""


def _watched(tasks: Sequence[Task]) -> Iterable[Task]:
    """The tasks, with a bar on a terminal."""
    from rich.progress import track

    from colbench.console import errors

    shown = errors().is_terminal
    return track(tasks, "writing", console=errors(), transient=True, disable=not shown)
