"""Task files other than JSON lines: Parquet, and JSON lines compressed by gzip, in ColBench's own schema.

The source is `file:PATH`, or the path alone if it ends in `.parquet` or `.gz`.
"""

from __future__ import annotations

from pathlib import Path

from colbench.task import Task, distinguish, task_from_row
from colbench_tasks.rows import Row, convert_rows, read_rows, require


def load(path: str, malformed: list[str] | None = None) -> list[Task]:
    """Read the tasks of a file.

    Raises DataError if a row does not fit the schema (the error names row and column), or if the file is missing,
    damaged or truncated. With a list `malformed`, such flaws are added to it and malformed rows are skipped; DataError
    is then raised only if no row is left.
    """
    rows = read_rows(Path(path).expanduser(), malformed=malformed)
    tasks = list(convert_rows(rows, _task, malformed))
    require(tasks, None, path, malformed)
    return distinguish(tasks)


def _task(row: Row) -> Task:
    return task_from_row({name: value for name, value in row.fields.items() if value is not None})
