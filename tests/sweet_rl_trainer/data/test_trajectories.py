"""Trajectories from runs of the harness and from official files."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from pathlib import Path

import pytest

import colbench
from colbench.cli import main
from colbench.errors import DataError
from colbench.messages import Message
from colbench.models.scripted_server import ScriptedServer
from colbench.plugins import resolve_tasks
from colbench.registry import get_domain
from colbench.rollout import read_rollouts
from colbench.task import row_from_task
from colbench_tasks.trajectories import read_trajectories
from sweet_rl_trainer.data.runs import read_run
from sweet_rl_trainer.data.trajectories import from_official


@pytest.fixture(scope="module")
def keyless(tmp_path_factory):
    """Return a folder with three tasks in a file and a run of the rule-based agent and human, two trials each."""
    folder = tmp_path_factory.mktemp("keyless")
    rows = [row_from_task(task) for task in resolve_tasks("generated:backend/any?number=3")]
    write(folder / "tasks.jsonl", *rows)
    tasks = str(folder / "tasks.jsonl")
    assert main(["eval", "--tasks", tasks, "--trials", "2", "--out", str(folder / "run")]) == 0
    return folder


@pytest.fixture
def run(keyless, tmp_path):
    """Return a copy of that run, which a test may change."""
    for name in ("run.json", "rollouts.jsonl"):
        (tmp_path / name).write_bytes((keyless / "run" / name).read_bytes())
    return tmp_path


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def edit(run, change):
    """Change every rollout of a run, as JSON."""
    rows = [json.loads(line) for line in (run / "rollouts.jsonl").read_text().splitlines()]
    for number, row in enumerate(rows):
        change(number, row)
    write(run / "rollouts.jsonl", *rows)


def test_a_run_is_read_with_tasks_rewards_and_the_built_in_prompt(keyless):
    trajectories = read_run(keyless / "run")
    rollouts = read_rollouts(keyless / "run" / "rollouts.jsonl")
    by_hash = {task.hash: task for task in resolve_tasks(str(keyless / "tasks.jsonl"))}
    assert len(trajectories) == len(rollouts) == 6
    prompt = get_domain("backend").agent_prompt(single_turn=False, pictures=False)
    for trajectory, rollout in zip(trajectories, rollouts, strict=True):
        system, request, *rest = trajectory.messages
        assert system.role == "system"
        assert system.content == prompt.replace("{max_turns}", "10")
        assert request == Message(role="user", content=rollout.request)
        said = [text for turn in rollout.turns for text in (turn.raw, turn.human)]
        assert [each.content for each in rest] == said[:-1]
        assert [each.role for each in rest] == (["assistant", "user"] * len(rollout.turns))[:-1]
        assert trajectory.privileged == by_hash[rollout.task_hash].hidden.reference
        assert trajectory.reward == rollout.scores["default"].value
        assert (trajectory.id, trajectory.task_id) == (
            f"{rollout.task_id}/{rollout.trial}",
            rollout.task_id,
        )
        assert (trajectory.sampled, trajectory.prompts) == ((), ())
    assert {each.task_hash for each in trajectories} == by_hash.keys()


def test_a_run_on_tasks_given_as_objects_is_read_with_these_tasks(tmp_path):
    tasks = colbench.load_tasks("generated:backend/any?number=1")
    colbench.evaluate(agent="guesser", tasks=tasks, out=tmp_path / "run")
    (trajectory,) = read_run(tmp_path / "run")
    assert trajectory.task_hash == tasks[0].hash


def test_a_task_file_given_by_a_relative_path_is_found_from_every_folder(
    keyless, tmp_path, monkeypatch
):
    monkeypatch.chdir(keyless)
    colbench.evaluate(agent="guesser", tasks="tasks.jsonl", limit=1, out=tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    assert len(read_run(tmp_path / "run")) == 1


def replies(messages):
    """Ask twice, each time with a thought, and then answer."""
    turn = sum(message.role == "assistant" for message in messages)
    question = f"  I wonder about {turn}. OUTPUT: What about case {turn}?\n"
    return question if turn < 2 else "Now. OUTPUT: I WANT TO ANSWER:\ndef f(): return 0"


async def eval_model(folder, *flags, prompt=None):
    """Evaluate a model that answers with `replies`, record its tokens, and return the requests to it."""
    async with ScriptedServer(replies) as server:
        agent = f"openai:scripted@{server.base_url}"
        given = [
            "--agent",
            agent,
            "--tasks",
            "generated:backend/any?number=2",
            "--record-tokens",
            "--out",
            "out",
            *flags,
        ]
        given += ["--agent-prompt", prompt] if prompt else []
        command = [sys.executable, "-m", "colbench.cli", "eval", *given]
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder, stdout=asyncio.subprocess.DEVNULL
        )
        assert await process.wait() == 0
        return server.requests


@pytest.mark.parametrize("prompt", [None, "Ask {max_turns} times at most."])
async def test_contexts_equal_the_messages_that_the_model_received(prompt, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if prompt:
        (tmp_path / "prompt.txt").write_text(prompt)
    requests = await eval_model(
        tmp_path, "--max-turns", "5", prompt="prompt.txt" if prompt else None
    )
    trajectories = read_run(tmp_path / "out")
    seen = [
        [{"role": each.role, "content": each.content} for each in trajectory.context(turn)]
        for trajectory in trajectories
        for turn in range(3)
    ]
    sent = [request["messages"] for request in requests]
    assert sorted(map(json.dumps, seen)) == sorted(map(json.dumps, sent))
    for trajectory in trajectories:
        assert trajectory.said == ("What about case 0?", "What about case 1?", "")
        assert trajectory.replies[0] == "  I wonder about 0. OUTPUT: What about case 0?\n"
        for turn, sampled in zip(trajectory.replies, trajectory.sampled, strict=True):
            assert bytes(list(sampled.ids[:-1])).decode() == turn


@pytest.mark.slow
async def test_a_prompt_whose_file_changed_or_is_missing_must_be_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompt.txt").write_text("Ask {max_turns} times.")
    await eval_model(tmp_path, prompt="prompt.txt")
    for lose in (lambda file: file.write_text("Ask no more."), Path.unlink):
        lose(tmp_path / "prompt.txt")
        with pytest.raises(
            DataError, match=r"neither the run's prompt file \(.*prompt\.txt\).*set data.system"
        ):
            read_run(Path("out"))
    given = read_run(Path("out"), system="Ask {max_turns} times.")
    assert given[0].messages[0].content == "Ask 10 times."
    with pytest.raises(
        DataError, match=r"out: .* hash is sha256:\w+, which .* now has the hash sha256"
    ):
        read_run(Path("out"), system="")


def test_given_tasks_are_matched_by_hash(run, keyless):
    tasks = resolve_tasks(str(keyless / "tasks.jsonl"))
    assert read_run(run, tasks=tasks[::-1]) == read_run(keyless / "run")
    with pytest.raises(
        DataError, match=r"1 of its tasks are missing \(such as .*\); set data.tasks"
    ):
        read_run(run, tasks=tasks[:2])


def test_a_changed_task_does_not_match(run, keyless):
    rows = [row_from_task(task) for task in resolve_tasks(str(keyless / "tasks.jsonl"))]
    rows[1]["ground_truth"] += "\n# changed"
    changed = resolve_tasks(str(write(run / "changed.jsonl", *rows)))
    with pytest.raises(
        DataError, match=rf"1 of its tasks have changed \(such as {rows[1]['id']}\)"
    ):
        read_run(run, tasks=changed)


def test_a_missing_task_file_is_reported(run):
    record = json.loads((run / "run.json").read_text())
    record["config"]["tasks"] = "nowhere.jsonl"
    record["tasks"]["file"] = str(run / "nowhere.jsonl")
    (run / "run.json").write_text(json.dumps(record))
    with pytest.raises(DataError, match=r"its tasks cannot be loaded: .*nowhere\.jsonl"):
        read_run(run)


def test_dialogues_without_a_reward_are_left_out_and_counted(run):
    def spoil(number, row):
        if number == 0:
            row["scores"] = {}
        if number == 1:
            row["scores"]["default"]["value"] = None
        if number == 2:
            row["ended_by"] = "failure"

    edit(run, spoil)
    dropped = Counter({"no reward": 1})
    assert len(read_run(run, dropped=dropped)) == 3
    assert dropped == {"no reward": 3, "the dialogue failed": 1}


def test_a_run_without_rewards_is_refused(run):
    edit(run, lambda _, row: row.update(scores={}))
    with pytest.raises(
        DataError, match=r"has no rollout with a reward \(no reward: 6\); `colbench sc"
    ):
        read_run(run)
    (run / "rollouts.jsonl").unlink()
    with pytest.raises(DataError, match="has no rollout with a reward .the run is empty."):
        read_run(run)
    with pytest.raises(DataError, match="is not a run folder"):
        read_run(run / "nothing")


def test_the_reason_a_dialogue_ended_is_kept(run):
    edit(run, lambda number, row: row.update(ended_by="limit" if number else "answer"))
    assert [each.ended_by for each in read_run(run)] == ["answer"] + ["limit"] * 5


def official(replies, **fields):
    """Return a row of an official file."""
    task = {
        "problem_description": "Add. def add(a)",
        "ground_truth": "def add(a):\n    return a + 1",
        "test_cases": {"test1": "add(1)"},
    }
    dialogue = []
    for number, raw in enumerate(replies):
        dialogue.append({"role": "user", "content": "Add. def add(a)" if not number else "One."})
        said = raw.partition("OUTPUT:")[2] or raw
        reply = {"role": "assistant", "content": said, "input": f"<{number}>", "output": raw}
        dialogue.append(reply)
    row = {"task": task, "dialogue_history": dialogue, "answer": "", "reward": 0.5}
    return {**row, **fields}


def test_official_rows_keep_sampled_text_public_text_and_prompts(tmp_path):
    rows = [
        official(["Hm. OUTPUT: How much?", "I WANT TO ANSWER: def add(a): ..."]),
        official(["How much?"] * 10),
        official(["How much?", "I WANT TO ANSWER: x OUTPUT: How much?"], reward=1.0),
        official(["How much?"], reward=None),
    ]
    path = write(tmp_path / "dialogues.jsonl", *rows)
    dropped = Counter()
    read = list(from_official(read_trajectories(path), system="Ask.", dropped=dropped))
    assert dropped == {"no reward": 1}
    first = read[0]
    assert [(each.role, each.content) for each in first.messages] == [
        ("system", "Ask."),
        ("user", "Add. def add(a)"),
        ("assistant", "Hm. OUTPUT: How much?"),
        ("user", "One."),
        ("assistant", "I WANT TO ANSWER: def add(a): ..."),
    ]
    assert first.said == (" How much?", "I WANT TO ANSWER: def add(a): ...")
    assert first.prompts == ("<0>", "<1>")
    assert first.privileged == "def add(a):\n    return a + 1"
    assert (first.id, first.reward) == ("row 1", 0.5)
    assert [each.ended_by for each in read] == ["answer", "limit", "unknown"]
    assert len({each.task_hash for each in read}) == 1


def test_official_rows_with_a_missing_prompt_have_no_prompts(tmp_path):
    row = official(["How much?", "I WANT TO ANSWER: x"])
    del row["dialogue_history"][1]["input"]
    (read,) = from_official(read_trajectories(write(tmp_path / "dialogues.jsonl", row)))
    assert read.prompts == ()
    assert read.messages[0].role == "user"
