"""Rows of task files: errors give the line and suggest the right spelling of a key; unrelated keys are ignored."""

from __future__ import annotations

import json

import pytest

from colbench.errors import DataError
from colbench.task import read_tasks, row_from_task, task_lines

ROW = {
    "problem_description": "Write it. The signature of the function is: def f(a)",
    "ground_truth": "def f(a):\n    return a",
    "test_cases": {"test1": "f(1)"},
    "hidden_information": "It returns its argument.",
    "facts": [{"name": "it", "topics": ["value"], "statement": "Its argument.", "examples": ["?"]}],
}


def without(*names):
    return {name: value for name, value in ROW.items() if name not in names}


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            without("hidden_information") | {"hiden_information": "x"},
            r"`hiden_information`: unknown key; did you mean `hidden_information`\?",
        ),
        (
            without("test_cases") | {"test_case": {}},
            r"`test_case`: unknown key; did you mean `test_cases`\?",
        ),
        (
            without("problem_description") | {"problem_descripton": "x"},
            r"`problem_descripton`: unknown key; did you mean `problem_description`\?",
        ),
        (
            ROW | {"facts": [{"name": "it", "topic": ["value"], "statement": "x"}]},
            r"`topic`: unknown key; did you mean `topics`\?",
        ),
        (
            ROW | {"facts": [{"name": "it", "topics": ["value"], "statment": "x"}]},
            r"`statment`: unknown key; did you mean `statement`\?",
        ),
        (without("ground_truth"), "`ground_truth`: required, but missing"),
        (ROW | {"ground_truth": 3}, "`ground_truth`: expected a string"),
        (ROW | {"facts": [{"name": "it"}]}, r"`facts\[0\].topics`: required, but missing"),
        (ROW | {"facts": [3]}, r"`facts\[0\]`: expected a JSON object"),
        ([ROW], "expected one JSON object per line"),
        (ROW | {"test_cases": ["f(1)"]}, "`test_cases`: expected a JSON object"),
        (
            without("test_cases") | {"domain": "backend"},
            "`test_cases`: required for a backend task",
        ),
        (
            ROW | {"test_cases": {}},
            "`ground_truth` is not HTML, .* for a backend task, add `test_cases`",
        ),
        (
            ROW | {"facts": ROW["facts"] * 2},
            r"`facts\[1\].name`: an earlier fact has the same name, it",
        ),
        (
            ROW | {"facts": [{"name": "it", "topics": ["value"], "statement": " "}]},
            r"`facts\[0\].statement` is empty",
        ),
    ],
)
def test_the_error_for_an_invalid_row_names_its_line_and_key(tmp_path, row, message):
    path = write(tmp_path / "tasks.jsonl", ROW, row)
    with pytest.raises(DataError, match=rf"tasks.jsonl, line 2: {message}"):
        read_tasks(path)
    malformed: list[str] = []
    assert len(read_tasks(path, malformed=malformed)) == 1
    assert len(malformed) == 1


def test_unrelated_keys_are_ignored(tmp_path):
    others = {"idx": 3, "source": "me", "answer": "x", "reward": 1.0, "test_case": "one of them"}
    plain, more = read_tasks(write(tmp_path / "tasks.jsonl", ROW, ROW | others))
    assert more.hash == plain.hash
    assert row_from_task(more)["facts"] == row_from_task(plain)["facts"]


def test_a_line_that_is_not_json_is_reported_with_its_number(tmp_path):
    path = tmp_path / "tasks.jsonl"
    path.write_text("{}x\n")
    with pytest.raises(DataError, match=r"line 1: JSON is malformed"):
        read_tasks(path)


def test_the_error_for_a_json_array_on_several_lines_says_that_each_line_is_an_object(tmp_path):
    path = tmp_path / "pretty.json"
    path.write_text(json.dumps([ROW], indent=2))
    said = r"pretty.json, line 1: Input data was truncated; expected one JSON object per line"
    with pytest.raises(DataError, match=said):
        read_tasks(path)


def test_a_null_counts_as_a_missing_field(tmp_path):
    nulls = {"id": None, "domain": None, "family": None, "idx": None}
    calls = {"test1": "f(1)", "test2": None}
    facts = [ROW["facts"][0] | {"stated": None}]
    row = ROW | nulls | {"test_cases": calls, "facts": facts}
    bare = without("hidden_information", "facts")
    path = write(tmp_path / "nulls.jsonl", row, bare | {"hidden_information": None, "facts": None})
    assert read_tasks(path) == read_tasks(write(tmp_path / "tasks.jsonl", ROW, bare))
    missing = write(tmp_path / "missing.jsonl", ROW | {"ground_truth": None})
    with pytest.raises(DataError, match="line 1: `ground_truth`: required, but missing"):
        read_tasks(missing)


def test_the_lines_of_tasks_are_found_by_id(tmp_path):
    path = tmp_path / "tasks.jsonl"
    rows = (json.dumps(ROW | {"id": name}) for name in ("a", "a"))
    path.write_text("\n{}\n" + "\n\n".join(rows))
    assert task_lines(path) == {"a": 3, "a-2": 5}


def test_repeated_ids_become_unique_even_if_a_suffix_is_taken(tmp_path):
    rows = [ROW | {"id": name} for name in ("a", "a-2", "a", "a", "a-2")]
    ids = [task.id for task in read_tasks(write(tmp_path / "tasks.jsonl", *rows))]
    assert ids == ["a", "a-2", "a-3", "a-4", "a-2-2"]
