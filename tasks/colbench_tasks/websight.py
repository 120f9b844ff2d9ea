"""Frontend tasks from WebSight v0.2, the data set that the paper's pages are from (paper, section 3).

`websight:train` is its first 10,000 rows, `websight:test` the first 500 of the next 10,000, read from the
Hugging Face hub by `datasets` in streaming: the pictures in it are not fetched. `websight:PATH` takes every row
of a local file, `.parquet` or `.jsonl`, or of a folder of Parquet files. A row's `llm_generated_idea` is the
request, its `text` the page. The random Unsplash pictures, which are no longer served, get the fixed address
that the official rows have.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from colbench.errors import DataError, UserError
from colbench.task import Task, task_from_row

REPOSITORY = "HuggingFaceM4/WebSight"
CONFIG = "v0.2"
COMMIT = "b11f8172f89c992b56ac702319e02c428cca4a4e"
SPLITS = {"train": (0, 10_000), "test": (10_000, 500)}
"""For each name how many rows are passed over and how many are taken."""
PAGE, REQUEST = "text", "llm_generated_idea"
RANDOM_PICTURE = re.compile(
    r"https?://source\.unsplash\.com/random/(\d+)x(\d+)/?(?:\?[^\"'\s<>)]*)?"
)
FIXED_PICTURE = r"https://picsum.photos/id/48/\1/\2"
LICENCE = f"{REPOSITORY} is licensed CC-BY-4.0: name its authors (Laurençon, Tronchon, Sanh) where you use it."

logger = logging.getLogger(__name__)


def load(name: str) -> list[Task]:
    """The tasks of `train`, `test` or a local path.

    Raises UserError if there is no such path, or the hub cannot be reached; DataError naming what is missing if
    the rows are not as WebSight's were.
    """
    start, number = SPLITS.get(name, (0, 0))
    rows = _hub(start, number) if number else _local(Path(name))
    prefix = name if number else "file"
    tasks = [_task(f"websight-{prefix}-{n:05}", row) for n, row in enumerate(rows, start)]
    if not tasks:
        raise DataError(f"websight:{name}: holds no rows")
    _tell_licence()
    return tasks


def _hub(start: int, number: int) -> Iterator[Any]:
    try:
        rows = _stream(REPOSITORY, name=CONFIG, revision=COMMIT)
        yield from rows.skip(start).take(number)
    except DataError:
        raise
    except Exception as cause:  # the client's HTTP library, and so its errors, differ by version
        reason = str(cause).split(". ")[0].strip(". \n") or type(cause).__name__
        raise UserError(
            f"{REPOSITORY}: cannot be read from the hub ({reason}). Offline give a file or folder of its rows: "
            "--tasks websight:PATH"
        ) from cause


def _local(path: Path) -> Iterable[Any]:
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files or not files[0].is_file():
        splits = ", ".join(f"websight:{name}" for name in sorted(SPLITS))
        raise UserError(
            f"websight:{path}: there is no such file, or no .parquet file in that folder; known: {splits}"
        )
    if files[0].suffix == ".parquet":
        return _parquet(files)
    return _lines(path)


def _parquet(files: list[Path]) -> Iterator[Any]:
    try:
        yield from _stream("parquet", data_files=[str(file) for file in files])
    except DataError:
        raise
    except Exception as cause:
        raise DataError(f"{files[0].parent}: no readable Parquet file: {cause}") from cause


def _stream(path: str, **options: Any) -> Any:
    """An iterable data set of the two columns. Raises DataError if it has them no more."""
    from datasets import load_dataset

    found = load_dataset(path, **options, split="train", streaming=True).column_names
    if found is not None and not {PAGE, REQUEST} <= set(found):
        raise DataError(_drift(path, found))
    return load_dataset(path, **options, split="train", streaming=True, columns=[PAGE, REQUEST])


def _lines(path: Path) -> Iterator[Any]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                yield msgspec.json.decode(line, type=dict[str, Any])
            except (msgspec.DecodeError, UnicodeDecodeError) as cause:
                raise DataError(f"{path}, line {number}: {cause}") from cause


def _task(name: str, row: dict[str, Any]) -> Task:
    if not {PAGE, REQUEST} <= set(row):
        raise DataError(_drift(name, row))
    try:
        page = RANDOM_PICTURE.sub(FIXED_PICTURE, row[PAGE])
        return task_from_row(
            {"id": name, "problem_description": row[REQUEST], "ground_truth": page}
        )
    except (DataError, TypeError) as cause:
        raise DataError(f"{name}: `{PAGE}` is no page or `{REQUEST}` no text: {cause}") from cause


def _drift(where: str, found: Iterable[str]) -> str:
    names = ", ".join(sorted(found))
    return f"{where}: expected the columns {PAGE} and {REQUEST} of WebSight {CONFIG}, found {names}"


@cache
def _tell_licence() -> None:
    """Once a process."""
    logger.warning(LICENCE)
