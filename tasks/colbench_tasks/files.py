"""Task files in ColBench's own schema: Parquet, JSON lines, or JSON lines compressed by gzip.

The source is `file:PATH`, or the path alone if it ends in `.parquet` or `.gz`.
"""

from __future__ import annotations

from pathlib import Path

from colbench.task import Task, distinguish, task_from_row
from colbench_tasks.rows import Row, convert_rows, read_rows, require


def load(path: str, malformed: list[str] | None = None) -> list[Task]:
    """Read the tasks of a file.

    Raises DataError if a row does not fit the schema (the error names file, row and column), or if the file is missing,
    empty, damaged or truncated. If a list `malformed` is given, malformed rows are skipped, and the flaws of rows and
    of damaged or truncated files are added to it. DataError is then raised only if the file cannot be opened or no row
    is left.
    """
    rows = read_rows(Path(path).expanduser(), malformed=malformed)
    tasks = list(convert_rows(rows, _task, malformed))
    require(tasks, None, path, malformed)
    return distinguish(tasks)


def _task(row: Row) -> Task:
    return task_from_row({name: value for name, value in row.fields.items() if value is not None})
