"""WebSight rows from local files in its schema; without network the hub is refused in words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from colbench.errors import DataError, UserError
from colbench_tasks.websight import load

PAGE = '<html><img src="{}"><body style="background: url(\'{}\')">Row {}</body></html>'
PICTURE = "https://source.unsplash.com/random/300x200/?coffee,shop"
BARE = "https://source.unsplash.com/random/1600x900"


def row(number: int) -> dict[str, object]:
    return {
        "text": PAGE.format(PICTURE, BARE, number),
        "llm_generated_idea": f"A page with the number {number}.",
    }


def write_lines(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def write_parquet(path: Path, rows: list[dict[str, object]]) -> Path:
    with_pictures = [{"image": {"bytes": b"not a picture", "path": None}, **one} for one in rows]
    pq.write_table(pa.Table.from_pylist(with_pictures), path)
    return path


@pytest.mark.parametrize("write", [write_lines, write_parquet])
def test_a_row_becomes_a_frontend_task_with_fixed_pictures(tmp_path: Path, write) -> None:
    suffix = "jsonl" if write is write_lines else "parquet"
    tasks = load(str(write(tmp_path / f"rows.{suffix}", [row(1), row(2)])))
    assert [task.request for task in tasks] == [
        "A page with the number 1.",
        "A page with the number 2.",
    ]
    assert [task.id for task in tasks] == ["websight-file-00000", "websight-file-00001"]
    assert {task.domain for task in tasks} == {"frontend"}
    assert tasks[1].hidden.reference == PAGE.format(
        "https://picsum.photos/id/48/300/200", "https://picsum.photos/id/48/1600/900", 2
    )


def test_a_folder_is_read_in_the_order_of_its_files(tmp_path: Path) -> None:
    write_parquet(tmp_path / "train-00001-of-00002.parquet", [row(3)])
    write_parquet(tmp_path / "train-00000-of-00002.parquet", [row(1), row(2)])
    requests = [task.request for task in load(str(tmp_path))]
    assert requests == [f"A page with the number {n}." for n in (1, 2, 3)]


@pytest.mark.parametrize("write", [write_lines, write_parquet])
def test_another_schema_is_refused_and_the_columns_are_named(tmp_path: Path, write) -> None:
    suffix = "jsonl" if write is write_lines else "parquet"
    path = write(tmp_path / f"rows.{suffix}", [{"html": "<html>", "text": "An idea."}])
    with pytest.raises(
        DataError, match="expected the columns text and llm_generated_idea.*html.*text"
    ):
        load(str(path))


def test_a_row_that_is_no_page_is_named(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rows.jsonl", [row(0), {**row(1), "text": "no page"}])
    with pytest.raises(DataError, match="websight-file-00001.*not HTML"):
        load(str(path))


def test_a_row_with_null_is_named(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rows.jsonl", [{**row(0), "text": None}])
    with pytest.raises(DataError, match="websight-file-00000"):
        load(str(path))


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row(0)) + "\n{\n")
    with pytest.raises(DataError, match=r"rows\.jsonl, line 2"):
        load(str(path))


def test_a_file_that_is_not_parquet_is_the_datas_fault(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(DataError, match="no readable Parquet file"):
        load(str(path))


def test_an_empty_file_holds_no_rows(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no rows"):
        load(str(write_lines(tmp_path / "rows.jsonl", [])))


def test_an_unknown_name_lists_the_splits(tmp_path: Path) -> None:
    for name in ("validation", str(tmp_path)):
        with pytest.raises(UserError, match="known: websight:test, websight:train"):
            load(name)


def run_alone(name: str, home: Path) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("HF_")}
    code = (
        "import logging; from colbench.errors import UserError; from colbench_tasks.websight import load\n"
        "logging.basicConfig(level='WARNING', format='%(message)s')\n"
        f"try: print(len(load({name!r})), len(load({name!r})))\n"
        "except UserError as error: print(error)"
    )
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, "HF_HUB_OFFLINE": "1", "HF_HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )


def test_the_hub_out_of_reach_is_said_with_the_way_round(tmp_path: Path) -> None:
    said = run_alone("test", tmp_path).stdout
    assert said.startswith("HuggingFaceM4/WebSight: cannot be read from the hub (")
    assert "--tasks websight:PATH" in said


def test_the_licence_is_shown_once(tmp_path: Path) -> None:
    done = run_alone(str(write_lines(tmp_path / "rows.jsonl", [row(1)])), tmp_path)
    assert done.stdout == "1 1\n"
    assert done.stderr.count("CC-BY-4.0") == 1
