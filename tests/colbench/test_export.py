"""Exports of tasks: the tasks are unchanged, a file is whole or absent, and the official form has no extra fields."""

from __future__ import annotations

import hashlib
import json
import os

import msgspec
import pytest

from colbench.cli import main
from colbench.plugins import resolve_tasks
from colbench.task import Fact, Hidden, Task, row_from_task
from colbench_tasks.bundled import lines
from colbench_tasks.families import FAMILIES
from colbench_tasks.generate import generate

PAGE = Task(
    id="page",
    domain="frontend",
    request="A page about tea. Not \u201cmuch\u201d, just | tea.",
    family="teas",
    hidden=Hidden(
        reference="<html><body>T\u00e9</body></html>",
        information="what a human is told",
        facts=(Fact(name="colour", topics=("colour",), statement="It is green.", stated=True),),
    ),
)
BARE = Task(
    id="bare",
    domain="backend",
    request="Two calls. The signature of the function is: def two(a)",
    hidden=Hidden(
        reference="def two(a):\n    return 2",
        information="def two(a):\n    return 2",
        tests=("two('|')", "two(None)"),
    ),
)


@pytest.fixture(scope="module")
def tasks():
    return generate(FAMILIES["parking"], 3, "export") + generate(FAMILIES["hotel"], 2, "export")


@pytest.fixture
def write(tmp_path):
    """Return a function that exports tasks to a file and returns its path."""

    def write(tasks, name, *flags):
        source, out = tmp_path / "source.jsonl", tmp_path / name
        source.write_bytes(lines(tasks))
        assert main(["tasks", "export", str(source), "--out", str(out), *flags]) == 0
        return out

    return write


def test_exported_json_lines_equal_the_bytes_that_the_reported_hash_covers(tasks, write, capsys):
    out = write(tasks, "out.jsonl")
    assert out.read_bytes() == lines(tasks)
    said = capsys.readouterr().err
    assert "5 tasks" in said
    assert hashlib.sha256(lines(tasks)).hexdigest() in said


@pytest.mark.parametrize("which", ["with facts", "bare", "page", "all kinds"])
def test_a_parquet_file_is_read_back_as_the_same_tasks(tasks, write, which):
    chosen = {
        "with facts": tasks,
        "bare": [BARE],
        "page": [PAGE],
        "all kinds": [*tasks, BARE, PAGE],
    }
    out = write(chosen[which], "out.parquet", "--format", "parquet")
    assert resolve_tasks(str(out)) == chosen[which]
    assert resolve_tasks(f"file:{out}") == chosen[which]


def test_the_datasets_package_reads_a_parquet_file_with_nested_facts(tasks, write, tmp_path):
    from datasets import Dataset

    out = write(tasks, "out.parquet", "--format", "parquet")
    table = Dataset.from_parquet(str(out), cache_dir=str(tmp_path / "cache"))
    rows = [row_from_task(task) for task in tasks]
    assert table["id"][:] == [row["id"] for row in rows]
    assert table[0]["test_cases"] == rows[0]["test_cases"]
    assert [fact["statement"] for fact in table[0]["facts"]] == [
        fact.statement for fact in tasks[0].hidden.facts
    ]
    assert [fact["stated"] for fact in table[0]["facts"]] == [
        fact.stated for fact in tasks[0].hidden.facts
    ]


def test_the_official_form_has_the_official_columns_and_no_facts(tasks, write):
    out = write([*tasks, PAGE], "out.jsonl", "--format", "official")
    *rows, page = map(json.loads, out.read_text("utf-8").splitlines())
    for row, task in zip(rows, tasks, strict=True):
        assert list(row) == [
            "ground_truth",
            "problem_description",
            "test_cases",
            "hidden_information",
        ]
        assert row["problem_description"] == task.request
        assert row["ground_truth"] == row["hidden_information"] == task.hidden.reference
        assert list(row["test_cases"]) == [f"test{n}" for n in range(1, 11)]
        assert tuple(row["test_cases"].values()) == task.hidden.tests
        hidden = [fact.statement for fact in task.hidden.facts if not fact.stated]
        assert hidden
        assert not any(statement in str(row) for statement in hidden)
    assert page == {"ground_truth": PAGE.hidden.reference, "problem_description": PAGE.request}


def test_the_official_form_is_read_by_the_official_loader(tasks, write, tmp_path, monkeypatch):
    folder = tmp_path / "official" / "backend_tasks"
    folder.mkdir(parents=True)
    write(tasks, folder / "train.jsonl", "--format", "official")
    monkeypatch.setenv("COLBENCH_OFFICIAL_DIR", str(folder.parent))
    found = resolve_tasks("official:backend/train")
    assert [task.request for task in found] == [task.request for task in tasks]
    assert [task.hidden.tests for task in found] == [task.hidden.tests for task in tasks]
    assert not any(task.hidden.facts for task in found)


def test_official_rows_are_unchanged_by_an_official_export(official_backend, tmp_path):
    """Compare all but the names of the calls: tasks do not keep these, and two of 400 rows name them differently."""
    out = tmp_path / "out.jsonl"
    argv = ["tasks", "export", str(official_backend), "--out", str(out), "--format", "official"]
    assert main(argv) == 0
    before, after = (
        [
            {**row, "test_cases": list(row["test_cases"].values())}
            for row in map(json.loads, path.read_text("utf-8").splitlines())
        ]
        for path in (official_backend, out)
    )
    assert after == before
    assert [list(row) for row in after] == [list(row) for row in before]


def test_limit_and_task_ids_select_the_exported_tasks(tasks, write):
    assert resolve_tasks(str(write(tasks, "two.jsonl", "--limit", "2"))) == tasks[:2]
    one = write(tasks, "one.jsonl", "--task-ids", tasks[3].id)
    assert resolve_tasks(str(one)) == [tasks[3]]


def test_an_existing_file_is_replaced_only_with_overwrite(tasks, write, tmp_path, capsys):
    out = write(tasks, "out.jsonl")
    argv = ["tasks", "export", str(tmp_path / "source.jsonl"), "--out", str(out), "--limit", "1"]
    assert main(argv) == 2
    assert f"--out {out}: already exists; --overwrite replaces it" in capsys.readouterr().err
    assert out.read_bytes() == lines(tasks)
    assert main([*argv, "--overwrite"]) == 0
    assert out.read_bytes() == lines(tasks[:1])
    assert sorted(os.listdir(tmp_path)) == ["out.jsonl", "source.jsonl"]


def test_overwriting_a_symbolic_link_replaces_its_target(tasks, tmp_path, capsys):
    source, target, link = (tmp_path / name for name in ("source.jsonl", "target", "link.jsonl"))
    source.write_bytes(lines(tasks[:1]))
    target.write_text("old")
    link.symlink_to(target)
    assert main(["tasks", "export", str(source), "--out", str(link), "--overwrite"]) == 0
    assert link.is_symlink()
    assert target.read_bytes() == lines(tasks[:1])
    assert sorted(os.listdir(tmp_path)) == ["link.jsonl", "source.jsonl", "target"]


@pytest.mark.parametrize("flags", [[], ["--overwrite"]])
def test_a_pipe_is_neither_replaced_nor_written(tasks, tmp_path, capsys, flags):
    source, pipe = tmp_path / "source.jsonl", tmp_path / "pipe.jsonl"
    source.write_bytes(lines(tasks[:1]))
    os.mkfifo(pipe)
    assert main(["tasks", "export", str(source), "--out", str(pipe), *flags]) == 2
    said = f"colbench: --out {pipe}: this is not a regular file; choose another file\n"
    assert capsys.readouterr().err == said
    assert pipe.is_fifo()
    assert sorted(os.listdir(tmp_path)) == ["pipe.jsonl", "source.jsonl"]


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("missing/out.jsonl", "does not exist"),
        (".", "this is a folder; choose a file in it"),
        ("source.jsonl/out", "does not exist"),
        ("x" * 300, "cannot be written: File name too long"),
    ],
)
@pytest.mark.parametrize("action", ["export", "datasheet"])
def test_an_unwritable_path_is_reported_and_leaves_no_file(
    tasks, tmp_path, capsys, action, out, message
):
    source = tmp_path / "source.jsonl"
    source.write_bytes(lines(tasks[:1]))
    flags = ["--license", "x", "--sample", "0"] if action == "datasheet" else []
    assert main(["tasks", action, str(source), "--out", str(tmp_path / out), *flags]) == 2
    said = capsys.readouterr().err
    assert "--out " in said
    assert message in said
    assert os.listdir(tmp_path) == ["source.jsonl"]


def test_the_file_name_determines_the_format(tasks, write):
    import gzip

    assert gzip.decompress(write(tasks, "out.jsonl.gz").read_bytes()) == lines(tasks)
    assert write(tasks, "out.parquet").read_bytes().startswith(b"PAR1")
    official = write(tasks, "official.jsonl", "--format", "official").read_bytes()
    compressed = write(tasks, "official.jsonl.gz", "--format", "official").read_bytes()
    assert gzip.decompress(compressed) == official
    assert resolve_tasks(str(write(tasks, "again.jsonl.gz"))) == tasks


@pytest.mark.parametrize(
    ("name", "flags", "message"),
    [
        ("out.csv", (), "use a name that ends in .jsonl, .jsonl.gz, .parquet"),
        ("out", ("--format", "jsonl"), "use a name that ends in .jsonl, .jsonl.gz, .parquet"),
        ("out.gz", (), "use a name that ends in"),
        (
            "out.jsonl",
            ("--format", "parquet"),
            "--format parquet cannot be written to a .jsonl file",
        ),
        (
            "out.parquet",
            ("--format", "jsonl"),
            "--format jsonl cannot be written to a .parquet file",
        ),
        (
            "out.parquet",
            ("--format", "official"),
            "--format official cannot be written to a .parquet file",
        ),
    ],
)
def test_a_file_name_that_does_not_fit_the_format_is_refused(
    tasks, tmp_path, capsys, name, flags, message
):
    source = tmp_path / "source.jsonl"
    source.write_bytes(lines(tasks[:1]))
    assert main(["tasks", "export", str(source), "--out", str(tmp_path / name), *flags]) == 2
    assert message in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["source.jsonl"]


def test_an_unknown_format_is_refused_with_the_known_ones(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["tasks", "export", "source.jsonl", "--out", "out", "--format", "xml"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert all(name in said for name in ("--format", "xml", "jsonl", "parquet", "official"))


def test_a_missing_source_is_reported_and_leaves_no_file(tmp_path, capsys):
    assert main(["tasks", "export", "nothing.jsonl", "--out", str(tmp_path / "out.jsonl")]) == 2
    assert "nothing.jsonl: neither a file nor a known source" in capsys.readouterr().err
    assert os.listdir(tmp_path) == []


def test_a_parquet_file_that_is_truncated_or_has_another_schema_is_named(
    tasks, write, tmp_path, capsys
):
    from datasets import Dataset

    other = tmp_path / "other.parquet"
    Dataset.from_dict({"text": ["a"], "number": [1]}).to_parquet(str(other))
    whole = write(tasks, "whole.parquet", "--format", "parquet").read_bytes()
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(whole[: len(whole) // 2])
    for path, message in ((other, "problem_description"), (cut, "truncated")):
        assert main(["tasks", "export", str(path), "--out", str(tmp_path / "out.jsonl")]) == 2
        said = capsys.readouterr().err
        assert str(path) in said
        assert message in said


def test_a_parquet_export_keeps_all_fields_of_facts(write):
    facts = (
        Fact(name="a", topics=(), statement="A."),
        Fact(name="b", topics=("x", "y"), statement="B.", examples=("Is it b?",), stated=True),
    )
    one = msgspec.structs.replace(BARE, hidden=msgspec.structs.replace(BARE.hidden, facts=facts))
    assert resolve_tasks(str(write([one, BARE], "o.parquet", "--format", "parquet"))) == [
        one,
        msgspec.structs.replace(BARE, id="bare-2"),
    ]
