"""Frontend tasks from WebSight v0.2, the source of the paper's pages (paper, section 3).

`websight:train` is the first 10,000 rows, `websight:test` the 500 rows after them. If the folder `v0.2` in
COLBENCH_OFFICIAL_DIR contains the dataset's first Parquet files, the rows are read from there. Otherwise, they are read
from ColBench's cache or, if they are not cached, downloaded from the Hugging Face Hub and cached. Only the footers of
the Hub's files and two columns of the needed row groups are downloaded; streaming with `datasets` would read all
earlier rows and many of the pictures.

`websight:PATH` takes every row of a local file (Parquet or JSON lines) or of a folder of Parquet files.

A row's `llm_generated_idea` is the request; its `text` is the page. The random Unsplash pictures are not served any
more, so they are replaced by the fixed URL that the official rows have.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from colbench.cache import cache_folder
from colbench.errors import DataError, UserError
from colbench.task import Task, task_from_row
from colbench_tasks.hub import (
    LOCAL_DIR,
    UnreachableError,
    list_files,
    local_folder,
    reach,
    tell_license,
)
from colbench_tasks.rows import (
    File,
    Row,
    complain,
    convert_rows,
    number_of_rows,
    parquet_rows,
    read_rows,
    require,
)
from colbench_tasks.schema import WebSightRow, fit

REPOSITORY = "HuggingFaceM4/WebSight"
CONFIG = "v0.2"
COMMIT = "b11f8172f89c992b56ac702319e02c428cca4a4e"
SPLITS = {"train": (0, 10_000), "test": (10_000, 500)}
"""The number of rows to skip and the number of rows to take, by split."""
COLUMNS = ("text", "llm_generated_idea")
SHARD = re.compile(r"train-(\d+)-of-\d+")
RANDOM_PICTURE = re.compile(
    r"https?://source\.unsplash\.com/random/(\d+)x(\d+)/?(?:\?[^\"'\s<>)]*)?"
)
FIXED_PICTURE = r"https://picsum.photos/id/48/\1/\2"
LICENSE = f"{REPOSITORY} is licensed CC-BY-4.0: name its authors (Laurençon, Tronchon, Sanh) where you use it."


def load(name: str, malformed: list[str] | None = None) -> list[Task]:
    """Return the tasks of `train`, `test` or a local path.

    Raises UserError if the path or the folder in COLBENCH_OFFICIAL_DIR does not exist, if the path is a folder without
    Parquet files, if the Hub cannot be reached, or if the downloaded rows cannot be written to the cache. Raises
    DataError if rows are missing, cannot be read, or do not fit WebSight's schema (the error names file, row and each
    difference). If a list `malformed` is given, malformed rows are skipped and their errors are added to it.
    DataError is then raised in only three cases: no row is left, a Parquet file lacks a column, or the rows of `train`
    or `test` cannot be located because a file is missing or damaged.
    """
    start, size = SPLITS.get(name, (0, None))
    rows = _path(Path(name), malformed) if size is None else _split(name, start, size, malformed)
    prefix = "file" if size is None else name
    tasks = list(convert_rows(rows, lambda row: _task(prefix, row), malformed))
    require(tasks, size, f"websight:{name}", malformed)
    tell_license(LICENSE)
    return tasks


def _task(prefix: str, row: Row) -> Task:
    fields = fit(row.fields, WebSightRow)
    return task_from_row(
        {
            "id": f"websight-{prefix}-{row.number:05}",
            "problem_description": fields.llm_generated_idea,
            "ground_truth": RANDOM_PICTURE.sub(FIXED_PICTURE, fields.text),
        }
    )


def _path(path: Path, malformed: list[str] | None) -> Iterator[Row]:
    path = path.expanduser()
    files = sorted(path.glob("*.parquet")) if path.is_dir() else []
    if files:
        return _shards(files, 0, None, malformed)
    if not path.is_file():
        what = "no .parquet file in that folder" if path.is_dir() else "no such file or folder"
        splits = ", ".join(f"websight:{name}" for name in sorted(SPLITS))
        raise UserError(f"--tasks websight:{path}: {what}; known: {splits}, websight:PATH")
    if path.suffix == ".parquet":
        return _shards([path], 0, None, malformed)
    return read_rows(path, malformed=malformed)


def _shards(
    files: Sequence[File], start: int, limit: int | None, malformed: list[str] | None
) -> Iterator[Row]:
    """Yield at most `limit` rows of consecutive Parquet files from row `start` on; other rows are not read."""
    end = None if limit is None else start + limit
    before = 0
    for file in files:
        if end is not None and before >= end:
            return
        try:
            size = number_of_rows(file)
        except DataError as cause:
            if end is not None:  # the location of the rows is then unknown
                raise
            complain(str(cause), malformed, cause)
            continue
        first, last = max(0, start - before), size if end is None else min(size, end - before)
        if first < last:
            rows = parquet_rows(
                file, columns=COLUMNS, start=first, limit=last - first, malformed=malformed
            )
            yield from (replace(row, number=before + row.number) for row in rows)
        before += size


def _split(name: str, start: int, size: int, malformed: list[str] | None) -> Iterator[Row]:
    files = _local_shards()
    if files:
        return _shards(files, start, size, malformed)
    kept = cache_folder() / "websight" / f"{name}-{COMMIT[:7]}.jsonl"
    if not kept.is_file():
        _keep(kept, _fetch(start, size))
    return (replace(row, number=start + row.number) for row in read_rows(kept, malformed=malformed))


def _local_shards() -> list[Path]:
    """Return the first Parquet files in the folder `v0.2` of COLBENCH_OFFICIAL_DIR.

    Raises DataError if the sequence of files has a gap.
    """
    folder = local_folder()
    files = sorted(folder.glob(f"{CONFIG}/*.parquet")) if folder else []
    for number, file in enumerate(files):
        named = SHARD.match(file.name)
        if named and int(named[1]) != number:
            raise DataError(
                f"{file.parent}: train-{number:05}-of-… is missing; add it, because rows are numbered across files"
            )
    return files


def _fetch(start: int, size: int) -> list[dict[str, Any]]:
    try:
        with reach(REPOSITORY, COMMIT):
            files = list_files(REPOSITORY, COMMIT, f"{CONFIG}/*.parquet")
            rows = [row.fields for row in _shards(files, start, size, None)]
    except UnreachableError as cause:
        raise UserError(
            f"{REPOSITORY}: cannot be fetched from the Hub ({cause}). With network access, run `hf download "
            f"{REPOSITORY} --repo-type dataset --include '{CONFIG}/train-0000*' --local-dir FOLDER` and set "
            f"{LOCAL_DIR} to FOLDER; or use another file or folder of WebSight rows: --tasks websight:PATH"
        ) from cause
    require(rows, size, REPOSITORY, None)
    return rows


def _keep(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows to a file atomically, so that an existing file is always complete.

    Raises UserError if the file cannot be written.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
        part.replace(path)
    except OSError as cause:
        raise UserError(
            f"{path}: cannot be written ({cause.strerror}); set COLBENCH_CACHE to another folder"
        ) from cause
