"""WebSight rows from local files in its schema, a hub, or the cache, and the messages for missing data."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from colbench.errors import DataError, UserError
from colbench_tasks import official, websight
from colbench_tasks.websight import load

PAGE = '<html><img src="{}"><body style="background: url(\'{}\')">Row {}</body></html>'
PICTURE = "https://source.unsplash.com/random/300x200/?coffee,shop"
BARE = "https://source.unsplash.com/random/1600x900"
PICTURES = Random(0)
SHOW = """
import logging
from colbench.errors import UserError
from colbench_tasks.websight import load
logging.basicConfig(level="WARNING", format="%(message)s")
try:
    tasks = load("test")
    print(len(tasks), tasks[0].id, tasks[0].request, tasks[-1].request)
except UserError as error:
    print(error)
"""
SHOWN = "500 websight-test-10000 A page with the number 10000. A page with the number 10499.\n"


def row(number: int) -> dict[str, Any]:
    return {
        "text": PAGE.format(PICTURE, BARE, number),
        "llm_generated_idea": f"A page with the number {number}.",
    }


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    with_pictures = [
        {"image": {"bytes": PICTURES.randbytes(500), "path": None}, **one} for one in rows
    ]
    pq.write_table(pa.Table.from_pylist(with_pictures), path, row_group_size=700)
    return path


def write_shards(folder: Path, *bounds: int) -> list[Path]:
    """Write Parquet files named like the dataset's first files: rows `bounds[0]` to `bounds[1]`, and so on."""
    folder.mkdir(parents=True)
    return [
        write_parquet(
            folder / f"train-{number:05}-of-00738-f00.parquet", [row(n) for n in range(first, last)]
        )
        for number, (first, last) in enumerate(pairwise(bounds))
    ]


@pytest.mark.parametrize("write", [write_lines, write_parquet])
def test_a_row_becomes_a_frontend_task_with_fixed_pictures(tmp_path: Path, write: Any) -> None:
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
    tasks = load(str(tmp_path))
    assert [task.request for task in tasks] == [f"A page with the number {n}." for n in (1, 2, 3)]
    assert [task.id for task in tasks] == [f"websight-file-0000{n}" for n in range(3)]


def test_another_schema_is_refused_with_the_names_of_the_columns(tmp_path: Path) -> None:
    rows = [{"html": "<html>", "text": "An idea."}]
    with pytest.raises(
        DataError, match="line 1: .*`llm_generated_idea` is missing, `html` is unknown"
    ):
        load(str(write_lines(tmp_path / "rows.jsonl", rows)))
    said = r"rows.parquet: columns are missing: `llm_generated_idea`; found: image, html, text"
    with pytest.raises(DataError, match=said):
        load(str(write_parquet(tmp_path / "rows.parquet", rows)))


def test_a_column_of_another_type_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"text": ["<html>"], "llm_generated_idea": [7]}), path)
    with pytest.raises(DataError, match=r"row 1: .*`llm_generated_idea` has another type .*`int`"):
        load(str(path))


def test_a_row_without_html_is_named(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rows.jsonl", [row(0), {**row(1), "text": "no page"}])
    with pytest.raises(DataError, match=r"rows\.jsonl, line 2: .*not HTML"):
        load(str(path))


def test_malformed_rows_can_be_left_out_and_the_others_keep_their_ids(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rows.jsonl", [row(0), {**row(1), "text": None}, row(2)])
    malformed: list[str] = []
    tasks = load(str(path), malformed)
    assert [task.id for task in tasks] == ["websight-file-00000", "websight-file-00002"]
    assert len(malformed) == 1
    assert "rows.jsonl, line 2: not in the expected schema: `text`" in malformed[0]


def test_a_line_with_invalid_json_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row(0)) + "\n{\n")
    with pytest.raises(DataError, match=r"rows\.jsonl, line 2"):
        load(str(path))


def test_a_truncated_file_is_named_and_the_other_files_can_be_read(
    tmp_path: Path,
) -> None:
    write_parquet(tmp_path / "a.parquet", [row(1)])
    cut = write_parquet(tmp_path / "b.parquet", [row(2)])
    cut.write_bytes(cut.read_bytes()[:-100])
    write_parquet(tmp_path / "c.parquet", [row(3)])
    said = r"b\.parquet: truncated, damaged or not a Parquet file \(.+\): fetch the file again"
    with pytest.raises(DataError, match=said):
        load(str(tmp_path))
    malformed: list[str] = []
    requests = [task.request for task in load(str(tmp_path), malformed)]
    assert requests == ["A page with the number 1.", "A page with the number 3."]
    assert len(malformed) == 1


def test_a_file_that_cannot_be_opened_is_not_called_damaged(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").mkdir()
    with pytest.raises(DataError, match=r"a\.parquet: cannot be read: Is a directory$"):
        load(str(tmp_path))


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="contains no rows"):
        load(str(write_lines(tmp_path / "rows.jsonl", [])))


def test_an_unknown_name_lists_the_splits(tmp_path: Path) -> None:
    for name in ("validation", str(tmp_path)):
        with pytest.raises(UserError, match="known: websight:test, websight:train"):
            load(name)


@pytest.mark.slow
def test_the_splits_are_read_across_the_files_of_a_local_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_shards(tmp_path / "v0.2", 0, 4_000, 10_100, 10_450, 12_000)
    monkeypatch.setenv("COLBENCH_OFFICIAL_DIR", str(tmp_path))
    test, train = load("test"), load("train")
    requests = [task.request for task in [*train, *test]]
    assert requests == [f"A page with the number {n}." for n in range(10_500)]
    assert [test[0].id, train[-1].id] == ["websight-test-10000", "websight-train-09999"]
    assert official.load("frontend/test") == test


def test_files_without_rows_of_the_set_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = write_shards(tmp_path / "v0.2", 0, 10_000, 10_500)[0]
    content = bytearray(first.read_bytes())
    footer = int.from_bytes(content[-8:-4], "little") + 8
    content[4:-footer] = bytes(len(content) - footer - 4)
    first.write_bytes(content)
    monkeypatch.setenv("COLBENCH_OFFICIAL_DIR", str(tmp_path))
    assert len(load("test")) == 500
    with pytest.raises(DataError, match="00000.*: truncated, damaged or not a Parquet file"):
        load("train")


def test_a_gap_between_the_files_and_too_few_rows_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLBENCH_OFFICIAL_DIR", str(tmp_path))
    files = write_shards(tmp_path / "v0.2", 0, 20, 40, 60)
    with pytest.raises(DataError, match="0 rows can be read, but there should be 500"):
        load("test")
    files[1].unlink()
    with pytest.raises(DataError, match=r"v0\.2: train-00001-of-… is missing"):
        load("test")


def test_a_truncated_file_before_the_rows_of_the_set_is_always_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut = write_shards(tmp_path / "v0.2", 0, 1_000, 12_000)[0]
    cut.write_bytes(cut.read_bytes()[:-100])
    monkeypatch.setenv("COLBENCH_OFFICIAL_DIR", str(tmp_path))
    with pytest.raises(DataError, match="train-00000"):
        load("test", [])


def publish_on(hub: Any, *bounds: int) -> None:
    write_shards(hub.root / websight.REPOSITORY / "v0.2", *bounds)
    hub.commits[websight.REPOSITORY] = websight.COMMIT


@pytest.mark.slow
def test_a_set_is_fetched_from_the_hub_only_once_and_without_pictures(
    hub: Any, run_alone: Any
) -> None:
    publish_on(hub, 0, 9_000, 10_200, 12_000, 12_100)
    first = run_alone(SHOW, HF_ENDPOINT=hub.url)
    assert first.stdout == SHOWN
    assert not [one for one in hub.asked if "train-00003" in one]
    assert hub.sent < sum(file.stat().st_size for file in hub.root.rglob("*.parquet")) / 10
    hub.asked.clear()
    offline = run_alone(SHOW, HF_HUB_OFFLINE="1")
    assert run_alone(SHOW, HF_ENDPOINT=hub.url).stdout == offline.stdout == SHOWN
    assert hub.asked == []


def test_a_hub_with_too_few_rows_is_reported_and_nothing_is_cached(
    hub: Any, run_alone: Any, tmp_path: Path
) -> None:
    publish_on(hub, 0, 10_200)
    said = run_alone(SHOW, HF_ENDPOINT=hub.url).stdout
    assert "200 rows can be read, but there should be 500" in said
    assert not list((tmp_path / "cache").rglob("*.jsonl"))


def test_changed_columns_on_the_hub_are_reported(hub: Any, run_alone: Any) -> None:
    publish_on(hub, 0, 10)
    table = pa.table({"text": ["<html>"] * 10_500, "idea": ["A page."] * 10_500})
    pq.write_table(table, hub.root / websight.REPOSITORY / "v0.2/train-00000-of-00738-f00.parquet")
    said = run_alone(SHOW, HF_ENDPOINT=hub.url).stdout
    assert "columns are missing: `llm_generated_idea`; found: text, idea" in said
    assert len(said.splitlines()) == 1


def test_a_hub_without_the_pinned_commit_is_reported(hub: Any, run_alone: Any) -> None:
    publish_on(hub, 0, 10)
    hub.commits[websight.REPOSITORY] = "0" * 40
    said = run_alone(SHOW, HF_ENDPOINT=hub.url).stdout
    assert f"cannot be fetched from the Hub ({hub.url}: " in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    "environment", [{"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "http://127.0.0.1:9"}]
)
def test_an_unreachable_hub_is_reported_in_one_line_with_an_alternative(
    run_alone: Any, environment: dict[str, str]
) -> None:
    ran = run_alone(SHOW, **environment)
    assert ran.stdout.startswith("HuggingFaceM4/WebSight: cannot be fetched from the Hub (")
    assert "--tasks websight:PATH" in ran.stdout
    assert len(ran.stdout.splitlines()) == 1
    assert ran.stderr == ""


def test_the_license_is_shown_once(tmp_path: Path, run_alone: Any) -> None:
    path = write_lines(tmp_path / "rows.jsonl", [row(1)])
    twice = f"load({str(path)!r}) + load({str(path)!r})"
    ran = run_alone(SHOW.replace('load("test")', twice))
    assert ran.stdout.startswith("2 ")
    assert ran.stderr.count("CC-BY-4.0") == 1
