"""Readers of data files that yield rows with their locations: JSON lines (also compressed by gzip) and Parquet.

The format is detected from the first bytes of a file; a file named `….parquet` is always read as Parquet. The error for
a truncated, damaged or wrong file says how to fix it. With a list `malformed`, rows that cannot be read are reported
there and skipped.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol, TypeVar

import msgspec
from msgspec import Struct

from colbench.errors import DataError
from colbench.task import BYTE_ORDER_MARK, ONE_PER_LINE, without_nulls

GZIP, PARQUET = b"\x1f\x8b", b"PAR1"
IMPOSTORS = {
    b"version https://git-lfs": "a Git LFS pointer, not the file itself: run `git lfs pull`",
    b"<": "a web page, not data: fetch the file itself",
    b"PK": "a ZIP archive: unpack it",
}
"""Descriptions of files that often stand in place of the data, each with the fix, by the file's first bytes."""
AGAIN = "fetch the file again"

Made = TypeVar("Made")


class File(Protocol):
    """A file that can be opened and has a name: a path, or a file on the Hub."""

    def open(self, mode: Literal["rb"], /) -> BinaryIO:
        """Open the file for reading; the result supports `seek`."""
        ...


class Row(Struct, frozen=True, kw_only=True):
    """One row of a file."""

    place: str
    """`FILE, line 7` or `FILE, row 7`, counted from 1."""
    number: int
    """The index among all rows, from 0."""
    fields: dict[str, Any]


def complain(flaw: str, malformed: list[str] | None, cause: Exception | None = None) -> None:
    """Append a flaw to the list `malformed`; without a list, raise DataError."""
    if malformed is None:
        raise DataError(flaw) from cause
    malformed.append(flaw)


def convert_rows(
    rows: Iterable[Row], make: Callable[[Row], Made], malformed: list[str] | None
) -> Iterator[Made]:
    """Yield `make(row)` for each row. If `make` raises DataError, `complain` gets the message and the row's place."""
    for row in rows:
        try:
            made = make(row)
        except DataError as cause:
            complain(f"{row.place}: {cause}", malformed, cause)
        else:
            yield made


def require(
    found: Sequence[object], size: int | None, source: str, malformed: list[str] | None
) -> None:
    """Call `complain` if fewer than `size` rows were found. Raises DataError if no rows were found."""
    if size and len(found) < size:
        few = f"{len(found)} rows can be read, but there should be {size:,}"
        complain(f"{source}: {few}: fetch the missing or damaged files again", malformed)
    if not found:
        raise DataError(malformed[0] if malformed else f"{source}: contains no rows")


def read_rows(
    path: Path, *, limit: int | None = None, malformed: list[str] | None = None
) -> Iterator[Row]:
    """Yield the rows of a file, or its first `limit` rows.

    Raises DataError, which names the file, if the file is missing, damaged or of another kind. Raises DataError, which
    names the row, if a row cannot be read. If a list `malformed` is given, rows that cannot be read and damaged parts
    of the file are skipped, and their errors are added to the list.
    """
    try:
        with path.open("rb") as file:
            start = file.read(64)
            file.seek(0)
            if start.startswith(PARQUET) or path.suffix == ".parquet":
                rows = parquet_rows(path, limit=limit, malformed=malformed)
            else:
                _refuse_impostors(path, start)
                lines = gzip.GzipFile(fileobj=file) if start.startswith(GZIP) else file
                rows = _json_rows(path, islice(_numbered(path, lines, malformed), limit), malformed)
            yield from rows
    except OSError as cause:
        raise DataError(f"{path}: cannot be read: {cause.strerror or cause}") from cause


def _refuse_impostors(path: Path, start: bytes) -> None:
    for beginning, what in IMPOSTORS.items():
        if start.lstrip().startswith(beginning):
            raise DataError(f"{path}: {what}")


def _numbered(
    path: Path, lines: Iterable[bytes], malformed: list[str] | None
) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers."""
    number = 0
    try:
        for number, line in enumerate(lines, start=1):
            if line.removeprefix(BYTE_ORDER_MARK).strip():
                yield number, line.removeprefix(BYTE_ORDER_MARK)
    except (EOFError, zlib.error, gzip.BadGzipFile) as cause:
        flaw = f"{path}, after line {number}: the compressed file is cut off or damaged: {AGAIN}"
        complain(flaw, malformed, cause)


def _json_rows(
    path: Path, lines: Iterable[tuple[int, bytes]], malformed: list[str] | None
) -> Iterator[Row]:
    decoder = msgspec.json.Decoder(dict[str, Any])
    for count, (number, line) in enumerate(lines):
        place = f"{path}, line {number}"
        try:
            row = _row(place, count, decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
            cut = "truncated" in str(cause) and not line.endswith(b"\n")
            hint = f"the file ends within this line: {AGAIN}" if cut else ONE_PER_LINE
            complain(f"{place}: {cause}; {hint}", malformed, cause)
        else:
            yield row


def parquet_rows(
    path: File,
    *,
    columns: Sequence[str] = (),
    start: int = 0,
    limit: int | None = None,
    malformed: list[str] | None = None,
) -> Iterator[Row]:
    """Yield at most `limit` rows of a Parquet file from row `start` (counted from 0) on.

    The rows have only the given `columns` or, if `columns` is empty, all columns.

    Raises DataError in the same cases as `read_rows`. Raises DataError, even with a list `malformed`, if a column is
    missing.
    """
    done = start
    try:
        for number, fields in _between(path, columns, start, limit):
            yield _row(f"{path}, row {number + 1}", number, fields)
            done = number + 1
    except (OSError, ValueError) as cause:  # these include pyarrow's own errors
        place = f"{path}, after row {done}" if done else f"{path}"
        complain(_parquet_flaw(place, cause), malformed, cause)


def _parquet_flaw(place: str, cause: Exception) -> str:
    if isinstance(cause, OSError) and cause.strerror:
        return f"{place}: cannot be read: {cause.strerror}"
    why = str(cause).split(". ")[0].strip(". \n")
    return f"{place}: truncated, damaged or not a Parquet file ({why}): {AGAIN}"


def _between(
    path: File, columns: Sequence[str], start: int, limit: int | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the requested rows with their numbers; row groups without requested rows are not read."""
    from pyarrow.parquet import ParquetFile  # type: ignore[import-untyped, unused-ignore]

    with path.open("rb") as content, ParquetFile(content, pre_buffer=True) as file:
        names = file.schema_arrow.names
        demand(columns, names, str(path))
        end = file.metadata.num_rows if limit is None else start + limit
        number = 0
        for group in range(file.num_row_groups):
            size = file.metadata.row_group(group).num_rows
            if number < end and number + size > start:
                batches = file.iter_batches(row_groups=[group], columns=list(columns) or None)
                rows = (row for batch in batches for row in batch.to_pylist())
                numbered = enumerate(rows, start=number)
                yield from (one for one in numbered if start <= one[0] < end)
            number += size


def demand(wanted: Sequence[str], found: Sequence[str], source: str) -> None:
    """Raise DataError, which names the missing and the existing columns, if a wanted column is missing."""
    missing = ", ".join(f"`{name}`" for name in wanted if name not in found)
    if missing:
        there = ", ".join(found)
        raise DataError(f"{source}: columns are missing: {missing}; found: {there}")


def number_of_rows(path: File) -> int:
    """Return the number of rows that a Parquet file's footer states. Raises DataError if the footer cannot be read."""
    from pyarrow.parquet import read_metadata  # type: ignore[import-untyped, unused-ignore]

    try:
        with path.open("rb") as content:
            rows: int = read_metadata(content).num_rows
    except (OSError, ValueError) as cause:
        raise DataError(_parquet_flaw(str(path), cause)) from cause
    return rows


def _row(place: str, number: int, fields: dict[str, Any]) -> Row:
    """Return a row without nulls inside nested values.

    If a row lacks a key that other rows have, Parquet files and some programs that write JSON store a null for the key.
    """
    present = {name: without_nulls(value) for name, value in fields.items()}
    return Row(place=place, number=number, fields=present)
