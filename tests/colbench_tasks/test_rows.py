"""Truncated, damaged and wrong files are named with the remedy, and their intact rows can be read."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from colbench.errors import DataError
from colbench_tasks.rows import parquet_rows, read_rows

ROWS = [{"number": n, "text": f"Row {n * n}", "tests": {"a": str(n)}} for n in range(300)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.fixture
def columns(tmp_path: Path) -> Path:
    """Return the rows as Parquet, in groups of 100."""
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), path, row_group_size=100)
    return path


def test_every_format_gives_the_same_rows_regardless_of_the_file_name(
    tmp_path: Path, columns: Path
) -> None:
    plain = write(tmp_path / "rows.jsonl", b"\xef\xbb\xbf" + LINES)
    packed = write(tmp_path / "packed", gzip.compress(LINES))
    renamed = columns.rename(tmp_path / "columns")
    for path in (plain, packed, renamed):
        rows = list(read_rows(path))
        assert [row.fields for row in rows] == ROWS
        assert [row.number for row in rows] == list(range(300))
        assert [row.fields for row in read_rows(path, limit=7)] == ROWS[:7]


def test_places_count_lines_of_the_file_and_numbers_count_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", b'\n{"a": 1}\n\n{"a": 2}')
    assert [(row.place, row.number) for row in read_rows(path)] == [
        (f"{path}, line 2", 0),
        (f"{path}, line 4", 1),
    ]


def test_a_broken_line_counts_as_a_row(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", b'{"a": 1}\n[]\n{"a": \xff}\n{"a": 4}\n{"a": 5}\n')
    malformed: list[str] = []
    assert [row.fields for row in read_rows(path, limit=4, malformed=malformed)] == [
        {"a": 1},
        {"a": 4},
    ]
    assert [flaw.split(": ")[0] for flaw in malformed] == [f"{path}, line 2", f"{path}, line 3"]


@pytest.mark.parametrize("form", ["jsonl", "gz", "parquet"])
def test_nulls_inside_values_are_left_out(tmp_path: Path, form: str) -> None:
    rows = [{"tests": {"a": "1", "b": None}}, {"tests": {"a": None, "b": "2"}}]
    path = tmp_path / f"rows.{form}"
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_bytes(gzip.compress(lines) if form == "gz" else lines)
    assert [row.fields for row in read_rows(path)] == [{"tests": {"a": "1"}}, {"tests": {"b": "2"}}]


@pytest.mark.parametrize("indent", [1, None])
def test_the_error_for_an_array_says_that_each_line_is_an_object(
    tmp_path: Path, indent: int | None
) -> None:
    path = write(tmp_path / "rows.jsonl", json.dumps(ROWS, indent=indent).encode())
    with pytest.raises(DataError, match=r"line 1: .*; expected one JSON object per line$"):
        list(read_rows(path))


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("jsonl", r"line \d+: .*the file ends within this line: fetch the file again"),
        ("gz", r"after line \d+: the compressed file is cut off or damaged: fetch the file again"),
        (
            "parquet",
            r"rows.parquet: truncated, damaged or not a Parquet file \(.*\): fetch the file",
        ),
    ],
)
def test_a_truncated_file_is_named_and_only_its_intact_rows_are_read(
    tmp_path: Path, columns: Path, form: str, said: str
) -> None:
    whole = {"jsonl": LINES, "gz": gzip.compress(LINES), "parquet": columns.read_bytes()}[form]
    path = write(tmp_path / f"rows.{form}", whole[: len(whole) * 2 // 3])
    with pytest.raises(DataError, match=said):
        list(read_rows(path))
    malformed: list[str] = []
    rows = [row.fields for row in read_rows(path, malformed=malformed)]
    assert rows == ROWS[: len(rows)]
    assert (len(rows) > 0) == (form != "parquet")
    (flaw,) = malformed
    assert re.search(said, flaw)


def test_a_compressed_file_with_a_wrong_checksum_is_named(tmp_path: Path) -> None:
    checksum = slice(-8, -4)
    whole = bytearray(gzip.compress(LINES))
    whole[checksum] = bytes(4)
    with pytest.raises(
        DataError, match="after line 300: the compressed file is cut off or damaged"
    ):
        list(read_rows(write(tmp_path / "rows.gz", bytes(whole))))


def test_damage_in_a_parquet_file_is_located_by_the_rows_before_it(columns: Path) -> None:
    content = bytearray(columns.read_bytes())
    second = pq.read_metadata(columns).row_group(1).column(0)
    content[second.dictionary_page_offset : second.data_page_offset] = b"\xff" * (
        second.data_page_offset - second.dictionary_page_offset
    )
    columns.write_bytes(content)
    said = "rows.parquet, after row 100: truncated, damaged or not a Parquet file"
    with pytest.raises(DataError, match=said):
        list(read_rows(columns))
    malformed: list[str] = []
    rows = read_rows(columns, malformed=malformed)
    assert [row.fields for row in rows] == ROWS[:100]
    (flaw,) = malformed
    assert said in flaw
    assert [row.fields for row in parquet_rows(columns, start=210, limit=2)] == ROWS[210:212]


def test_only_requested_columns_are_read_and_all_of_them_must_exist(columns: Path) -> None:
    assert next(parquet_rows(columns, columns=["text"])).fields == {"text": "Row 0"}
    said = "rows.parquet: columns are missing: `idea`, `page`; found: number, text, tests"
    with pytest.raises(DataError, match=said):
        next(parquet_rows(columns, columns=["idea", "text", "page"]))


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0",
            "a Git LFS pointer, .* lfs pull",
        ),
        (b"<!DOCTYPE html><title>Login</title>", "a web page, not data"),
        (b"PK\x03\x04", "a ZIP archive: unpack it"),
    ],
)
def test_common_substitutes_for_a_data_file_are_recognized(
    tmp_path: Path, start: bytes, said: str
) -> None:
    with pytest.raises(DataError, match=f"rows.jsonl: {said}"):
        list(read_rows(write(tmp_path / "rows.jsonl", start)))


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="rows.jsonl: cannot be read: No such file"):
        list(read_rows(tmp_path / "rows.jsonl"))
