"""Task files that are more than JSON lines: Parquet, and JSON lines compressed by gzip, in ColBench's own schema.

`file:PATH`, or the path alone if it ends in `.parquet` or `.gz`.
"""

from __future__ import annotations

from pathlib import Path

from colbench.task import Task, distinguish, task_from_row
from colbench_tasks.rows import Row, convert_rows, read_rows, require


def load(path: str, malformed: list[str] | None = None) -> list[Task]:
    """The tasks of a file.

    Raises DataError naming row and column if one does not fit the schema, or the file is cut off. With a list
    `malformed`, such rows are named there and left out; DataError is raised only if none is left.
    """
    rows = read_rows(Path(path).expanduser(), malformed=malformed)
    tasks = list(convert_rows(rows, _task, malformed))
    require(tasks, None, path, malformed)
    return distinguish(tasks)


def _task(row: Row) -> Task:
    return task_from_row({name: value for name, value in row.fields.items() if value is not None})
