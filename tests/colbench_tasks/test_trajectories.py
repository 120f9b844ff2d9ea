"""Recorded dialogues in the official schema, from files and from the official sources."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from colbench.errors import DataError, UserError
from colbench.task import task_from_row
from colbench_tasks.trajectories import (
    FILE,
    RecordedTurn,
    Trajectory,
    official_trajectories,
    read_trajectories,
)

TASK = {
    "problem_description": "Add something. def add(a)",
    "ground_truth": "def add(a):\n    return a + 1",
    "test_cases": {"test1": "add(1)", "test2": "add(2)"},
}
DIALOGUE = [
    {"role": "user", "content": "Add something. def add(a)"},
    {
        "role": "assistant",
        "content": " How much?",
        "input": "<user>Add something. def add(a)<assistant>",
        "output": "I must ask. OUTPUT: How much?",
    },
    {"role": "user", "content": "One."},
    {
        "role": "assistant",
        "content": "I WANT TO ANSWER: def add(a): return a + 1",
        "input": "<user>Add something. def add(a)<assistant>How much?<user>One.<assistant>",
        "output": "I WANT TO ANSWER: def add(a): return a + 1",
    },
]
ROW: dict[str, Any] = {
    "task": TASK,
    "dialogue_history": DIALOGUE,
    "answer": " def add(a): return a + 1",
    "reward": 1.0,
}
TURNS = (
    RecordedTurn(
        prompt="<user>Add something. def add(a)<assistant>",
        raw="I must ask. OUTPUT: How much?",
        said=" How much?",
        human="One.",
    ),
    RecordedTurn(
        prompt="<user>Add something. def add(a)<assistant>How much?<user>One.<assistant>",
        raw="I WANT TO ANSWER: def add(a): return a + 1",
        said="I WANT TO ANSWER: def add(a): return a + 1",
        human=None,
    ),
)


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_row_becomes_a_trajectory_with_its_task_and_sampled_turns(tmp_path: Path) -> None:
    path = write(tmp_path / "dialogues.jsonl", ROW)
    assert list(read_trajectories(path)) == [
        Trajectory(
            task=task_from_row(TASK),
            turns=TURNS,
            answer=" def add(a): return a + 1",
            reward=1.0,
            place=f"{path}, line 1",
        )
    ]


def test_dialogues_of_one_task_share_its_hash_regardless_of_their_position(tmp_path: Path) -> None:
    other = {**ROW, "task": {**TASK, "ground_truth": "def add(a):\n    return a + 2"}}
    read = list(read_trajectories(write(tmp_path / "dialogues.jsonl", ROW, other, ROW, other)))
    hashes = [trajectory.task.hash for trajectory in read]
    assert hashes[:2] == hashes[2:]
    assert len(set(hashes)) == 2


def test_unrecorded_fields_are_empty_or_none(tmp_path: Path) -> None:
    dialogue = [DIALOGUE[0], {"role": "assistant", "content": "Here."}]
    path = write(tmp_path / "dialogues.jsonl", {"task": TASK, "dialogue_history": dialogue})
    (read,) = read_trajectories(path)
    assert (read.answer, read.reward) == ("", None)
    assert read.turns == (RecordedTurn(prompt="", raw="Here.", said="Here.", human=None),)


def test_a_dialogue_about_a_page_has_a_frontend_task(tmp_path: Path) -> None:
    page = {"problem_description": "A page.", "ground_truth": "<html>A page</html>"}
    (read,) = read_trajectories(write(tmp_path / "dialogues.jsonl", {**ROW, "task": page}))
    assert read.task.domain == "frontend"


def test_gzip_and_parquet_give_the_same_trajectories_except_for_the_place(tmp_path: Path) -> None:
    small = {**TASK, "test_cases": {"test1": "add(1)"}}
    rows = [ROW, {**ROW, "task": small, "reward": 0.5}]
    path = tmp_path / "dialogues.jsonl.gz"
    with gzip.open(path, "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "dialogues.parquet")
    compressed = list(read_trajectories(path))
    columns = list(read_trajectories(tmp_path / "dialogues.parquet"))
    assert [(t.task, t.turns, t.reward) for t in compressed] == [
        (task_from_row(TASK), TURNS, 1.0),
        (task_from_row(small), TURNS, 0.5),
    ]
    assert [(t.task, t.turns, t.answer, t.reward) for t in columns] == [
        (t.task, t.turns, t.answer, t.reward) for t in compressed
    ]
    assert columns[1].place.endswith("dialogues.parquet, row 2")


def test_trajectories_are_read_one_at_a_time(tmp_path: Path) -> None:
    path = write(tmp_path / "dialogues.jsonl", ROW, {"other": 1})
    read = read_trajectories(path)
    assert next(read).turns == TURNS
    with pytest.raises(DataError, match="line 2"):
        next(read)
    assert len(list(read_trajectories(path, limit=1))) == 1


BROKEN = {
    "`dialogue_history` is missing, `messages` is unknown": {"task": TASK, "messages": DIALOGUE},
    "`reward` has another type .*`str`": {**ROW, "reward": "1"},
    "`task`: not in the expected schema: `ground_truth` is missing": {
        **ROW,
        "task": {"problem_description": "x", "test_cases": {}},
    },
    "must alternate user and assistant and end with assistant, got: user, user": {
        **ROW,
        "dialogue_history": [DIALOGUE[0]] * 2,
    },
    "got: user, assistant, user$": {**ROW, "dialogue_history": DIALOGUE[:3]},
    "got: no messages": {**ROW, "dialogue_history": []},
}


@pytest.mark.parametrize("said", BROKEN)
def test_an_invalid_row_is_named_and_the_other_rows_can_be_read(tmp_path: Path, said: str) -> None:
    path = write(tmp_path / "dialogues.jsonl", ROW, BROKEN[said], ROW)
    with pytest.raises(DataError, match=f"line 2: .*{said}"):
        list(read_trajectories(path))
    malformed: list[str] = []
    read = list(read_trajectories(path, malformed=malformed))
    assert [trajectory.place for trajectory in read] == [f"{path}, line 1", f"{path}, line 3"]
    assert len(malformed) == 1


def test_official_trajectories_are_read_from_the_official_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLBENCH_OFFICIAL_DIR", str(tmp_path))
    with pytest.raises(
        UserError, match=f"does not contain {FILE}. With network access, run `hf down"
    ) as missing:
        next(official_trajectories())
    assert "--tasks" not in str(missing.value)
    write(tmp_path / FILE, ROW, ROW, ROW)
    assert len(list(official_trajectories(limit=2))) == 2


def test_official_trajectories_are_fetched_from_the_hub(hub: Any, run_alone: Any) -> None:
    folder = hub.root / "facebook/collaborative_agent_bench"
    folder.mkdir(parents=True)
    write(folder / FILE, ROW, ROW)
    hub.commits["facebook/collaborative_agent_bench"] = "cf3526d".ljust(40, "0")
    code = (
        "from colbench_tasks.trajectories import official_trajectories\n"
        "print([each.reward for each in official_trajectories()])"
    )
    ran = run_alone(code, HF_ENDPOINT=hub.url)
    assert ran.stdout == "[1.0, 1.0]\n"
    assert "CC-BY-NC-4.0" in ran.stderr
