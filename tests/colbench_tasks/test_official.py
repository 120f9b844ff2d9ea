"""Official tasks from a folder, the hub, or its cache, and the messages for missing or incomplete data."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from colbench.errors import DataError, UserError
from colbench.task import read_tasks
from colbench_tasks import official

SHOW = """
import logging, sys
from colbench.errors import UserError
from colbench_tasks.official import load
logging.basicConfig(level="WARNING", format="%(message)s")
logging.getLogger("colbench_tasks").setLevel("INFO")
try:
    print(len(load("backend/test")), load("backend/test")[0].request)
except UserError as error:
    print(error)
"""
TEST, TRAIN = "backend_tasks/test.jsonl", "backend_tasks/train.jsonl"
COMMIT = official.COMMIT.ljust(40, "0")
OTHER = "0123456789abcdef0123456789abcdef01234567"
PAGE = {"problem_description": "A page.", "ground_truth": "<html>A page</html>"}


def row(number: int, word: str = "Add") -> dict[str, Any]:
    return {
        "problem_description": f"{word} {number}. def add(a)",
        "ground_truth": f"def add(a):\n    return a + {number}",
        "test_cases": {f"test{n}": f"add({n})" for n in range(1, 11)},
        "hidden_information": f"def add(a):\n    return a + {number}",
    }


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def write_thousand(path: Path, word: str = "Add") -> Path:
    return write(path, [row(n, word) for n in range(1000)])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that COLBENCH_OFFICIAL_DIR names."""
    path = tmp_path / "official"
    path.mkdir()
    monkeypatch.setenv("COLBENCH_OFFICIAL_DIR", str(path))
    return path


def test_a_local_folder_is_read_and_its_first_1000_rows_are_the_test_set(folder: Path) -> None:
    write(folder / TEST, [row(n) for n in range(1003)])
    write(folder / TRAIN, [row(n) for n in range(1003)])
    tasks = official.load("backend/test")
    assert len(tasks) == 1000
    assert tasks[7].hidden.reference.endswith("a + 7")
    assert len(tasks[0].hidden.tests) == 10
    assert len(official.load("backend/train")) == 1003


def test_gzip_and_parquet_give_the_same_tasks_as_plain_json_lines(
    folder: Path, official_backend: Path
) -> None:
    rows = [json.loads(line) for line in official_backend.read_text().splitlines()]
    rows[0]["test_cases"] = {"test1": rows[0]["test_cases"]["test1"]}
    expected = read_tasks(write(folder / "expected.jsonl", rows))
    (folder / "backend_tasks").mkdir()
    pq.write_table(pa.Table.from_pylist(rows), folder / "backend_tasks/train.parquet")
    assert official.load("backend/train") == expected
    with gzip.open(folder / "backend_tasks/train.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(one) + "\n" for one in rows)
    assert official.load("backend/train") == expected
    assert len(expected[0].hidden.tests) == 1


def test_rows_after_the_test_set_may_have_another_schema(folder: Path) -> None:
    write(folder / TEST, [*(row(n) for n in range(1000)), {"other": 1}])
    assert len(official.load("backend/test")) == 1000


def test_a_changed_schema_is_reported_by_line_and_column(folder: Path) -> None:
    bad = {**row(1), "reference": "x", "test_cases": ["add(1)"]}
    del bad["ground_truth"]
    write(folder / TRAIN, [row(0), bad])
    said = (
        r"train\.jsonl, line 2: not in the expected schema: `ground_truth` is missing, `test_cases` has another "
        r"type \(Expected `object`, got `array`\), `reference` is unknown"
    )
    with pytest.raises(DataError, match=said):
        official.load("backend/train")


def test_a_new_column_alone_gives_only_a_warning(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(folder / TRAIN, [{**row(n), "level_of_this_test": 1} for n in range(3)])
    assert len(official.load("backend/train")) == 3
    told = [record.getMessage() for record in caplog.records if "level_of" in record.getMessage()]
    assert told == [
        "BackendRow: rows have unknown columns, which are ignored: `level_of_this_test`"
    ]


def test_a_null_is_reported_as_another_type(folder: Path) -> None:
    write(folder / TRAIN, [{**row(0), "ground_truth": None}])
    with pytest.raises(DataError, match="line 1: .*`ground_truth` .*got `null`"):
        official.load("backend/train")


def test_malformed_rows_can_be_left_out_and_are_not_replaced_by_later_rows(
    folder: Path,
) -> None:
    rows = [row(n) for n in range(1005)]
    rows[3] = {"other": 1}
    write(folder / TEST, rows)
    malformed: list[str] = []
    tasks = official.load("backend/test", malformed)
    assert [task.request for task in tasks] == [
        row(n)["problem_description"] for n in range(1000) if n != 3
    ]
    assert "test.jsonl, line 4: not in the expected schema" in malformed[0]
    assert "999 rows can be read, but there should be 1,000" in malformed[1]


def test_a_file_without_any_valid_row_is_always_refused(folder: Path) -> None:
    write(folder / TRAIN, [{"other": 1}])
    with pytest.raises(DataError, match="line 1: not in the expected schema"):
        official.load("backend/train", [])


def test_an_incomplete_test_set_is_refused(folder: Path) -> None:
    write(folder / TEST, [row(n) for n in range(400)])
    with pytest.raises(
        DataError, match="test.jsonl: 400 rows can be read, but there should be 1,000: fetch"
    ):
        official.load("backend/test")


def test_a_truncated_line_is_named_and_the_rows_before_it_can_be_read(folder: Path) -> None:
    path = write(folder / TRAIN, [row(0), row(1)])
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match=r"train\.jsonl, line 2: .*the file ends within this line"):
        official.load("backend/train")
    malformed: list[str] = []
    assert len(official.load("backend/train", malformed)) == 1
    assert len(malformed) == 1


@pytest.mark.parametrize("name", ["frontend", "backend/validation", "frontend/dev", ""])
def test_an_unknown_set_lists_the_known_sets(name: str) -> None:
    known = "official:backend/test, official:backend/train, official:frontend/test, official:frontend/train"
    with pytest.raises(
        UserError, match=f"official:{name}: unknown set(; did you mean `.*`\\? K|; k)nown: {known}$"
    ):
        official.load(name)


def test_trajectories_requested_as_tasks_point_to_their_module() -> None:
    with pytest.raises(UserError, match="colbench_tasks.trajectories"):
        official.load("trajectories")


def test_a_folder_without_the_file_is_reported(folder: Path) -> None:
    with pytest.raises(
        UserError,
        match=rf"COLBENCH_OFFICIAL_DIR: .* does not contain {TEST}\. With .* {TEST} --local-dir {folder}`, or unset",
    ):
        official.load("backend/test")


@pytest.mark.parametrize("name", ["backend/test", "frontend/test"])
def test_a_missing_folder_is_reported(folder: Path, name: str) -> None:
    shutil.rmtree(folder)
    with pytest.raises(UserError, match="COLBENCH_OFFICIAL_DIR: the folder .* does not exist"):
        official.load(name)


def test_pages_in_the_format_of_the_released_recipe_are_read(folder: Path) -> None:
    pages = [{**PAGE, "problem_description": f"Page {number}."} for number in range(501)]
    write(folder / "frontend_tasks/test.jsonl", pages)
    tasks = official.load("frontend/test")
    assert len(tasks) == 500
    assert tasks[499].request == "Page 499."
    assert {task.domain for task in tasks} == {"frontend"}


@pytest.mark.parametrize("switch", ["HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"])
def test_missing_data_without_network_access_is_reported_with_a_remedy(
    run_alone: Any, switch: str
) -> None:
    ran = run_alone(SHOW, **{switch: "1"})
    assert (
        "cannot be fetched (not cached, and HF_HUB_OFFLINE or HF_DATASETS_OFFLINE forbids"
        in ran.stdout
    )
    assert "hf download facebook/collaborative_agent_bench --repo-type dataset" in ran.stdout
    assert "--tasks PATH" in ran.stdout
    assert len(ran.stdout.splitlines()) == 1
    assert ran.stderr == ""


def test_an_unreachable_hub_is_reported_in_one_line(run_alone: Any) -> None:
    ran = run_alone(SHOW, HF_ENDPOINT="http://127.0.0.1:9")
    assert "cannot be fetched (http://127.0.0.1:9: [Errno 111] Connection refused)" in ran.stdout
    assert len(ran.stdout.splitlines()) == 1
    assert ran.stderr == ""


def fill_cache(home: Path, commit: str, word: str, refs: bool = True) -> None:
    cache = home / "hf/hub/datasets--facebook--collaborative_agent_bench"
    write_thousand(cache / f"snapshots/{commit}" / TEST, word)
    if refs:
        (cache / "refs").mkdir()
        (cache / "refs/main").write_text(commit)


@pytest.mark.parametrize("switch", ["HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"])
def test_cached_data_is_read_offline_and_its_commit_and_license_are_shown(
    tmp_path: Path, run_alone: Any, switch: str
) -> None:
    fill_cache(tmp_path, COMMIT, "Add")
    ran = run_alone(SHOW, **{switch: "1"})
    assert ran.stdout == "1000 Add 0. def add(a)\n"
    assert f"commit {COMMIT}" in ran.stderr
    assert ran.stderr.count("CC-BY-NC-4.0") == 1


def test_the_pinned_commit_is_read_even_if_the_branch_has_changed(
    tmp_path: Path, run_alone: Any
) -> None:
    fill_cache(tmp_path, OTHER, "Other")
    fill_cache(tmp_path, COMMIT, "Pinned", refs=False)
    ran = run_alone(SHOW, HF_HUB_OFFLINE="1")
    assert ran.stdout.startswith("1000 Pinned")
    assert "not the pinned commit" not in ran.stderr


def test_a_cached_commit_that_is_not_pinned_is_read_with_a_warning(
    tmp_path: Path, run_alone: Any
) -> None:
    fill_cache(tmp_path, OTHER, "Other")
    ran = run_alone(SHOW, HF_HUB_OFFLINE="1")
    assert ran.stdout.startswith("1000 Other")
    assert f"{OTHER} is not the pinned commit {official.COMMIT}" in ran.stderr


@pytest.mark.slow
def test_a_file_is_fetched_from_the_hub_only_once(hub: Any, run_alone: Any) -> None:
    write_thousand(hub.root / official.REPOSITORY / TEST)
    hub.commits[official.REPOSITORY] = COMMIT
    first = run_alone(SHOW, HF_ENDPOINT=hub.url)
    assert first.stdout == "1000 Add 0. def add(a)\n"
    assert "not the pinned commit" not in first.stderr
    hub.asked.clear()
    assert run_alone(SHOW, HF_ENDPOINT=hub.url).stdout == first.stdout
    assert hub.asked == []


def test_a_hub_without_the_pinned_commit_is_read_with_a_warning(hub: Any, run_alone: Any) -> None:
    write_thousand(hub.root / official.REPOSITORY / TEST)
    hub.commits[official.REPOSITORY] = OTHER
    ran = run_alone(SHOW, HF_ENDPOINT=hub.url)
    assert ran.stdout.startswith("1000 Add")
    assert f"{OTHER} is not the pinned commit" in ran.stderr


def test_a_hub_without_the_data_set_is_reported(hub: Any, run_alone: Any) -> None:
    ran = run_alone(SHOW, HF_ENDPOINT=hub.url)
    assert f"backend_tasks/test.jsonl cannot be fetched ({hub.url}: " in ran.stdout
    assert len(ran.stdout.splitlines()) == 1


def test_importing_the_loader_imports_no_hub_client() -> None:
    code = (
        "import colbench_tasks.trajectories, sys; "
        "print({'datasets', 'huggingface_hub', 'pyarrow'} & set(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"
