"""The library: `evaluate`, `Run`, `compare` and `load_run`, from a script, a thread and a running event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

import colbench
from colbench.export import encode_lines
from colbench.messages import ANSWER_MARKER

FEW = {"tasks": "bundled:backend", "limit": 3, "sandbox_workers": 1}


class Asks:
    """An agent that asks one question and then answers with `pass`."""

    async def reply(self, dialogue: Sequence[colbench.Message]) -> str:
        return "Is there a minimum?" if len(dialogue) == 1 else f"{ANSWER_MARKER}\npass"


class Silent:
    """A human who knows nothing."""

    async def respond(self, task: colbench.Task, dialogue: Sequence[colbench.Message]) -> str:
        return "I do not know."


class Deaf:
    """A human whose method is not async."""

    def respond(self, task: colbench.Task, dialogue: Sequence[colbench.Message]) -> str:
        return "What?"


class Watching(colbench.Observer):
    def __init__(self) -> None:
        self.events: list[object] = []

    def on_start(self, record: object) -> None:
        self.events.append("start")

    def on_kept(self, rollout: colbench.Rollout) -> None:
        self.events.append(f"kept {rollout.task_id}")

    def on_resume(self, kept: int, total: int) -> None:
        self.events.append((kept, total))

    def on_rollout(self, rollout: colbench.Rollout) -> None:
        self.events.append(rollout.task_id)

    def on_end(self) -> None:
        self.events.append("end")


def test_a_named_sandbox_tier_is_recorded_in_the_configuration_and_in_every_score():
    run = colbench.evaluate(
        agent="interviewer", sandbox_tier="T2", allow_unsafe_sandbox=True, **FEW
    )
    assert run.config.sandbox_tier == "T2"
    scores = [score for rollout in run.rollouts for score in rollout.scores.values()]
    assert {score.environment.split()[0] for score in scores} == {"T2"}


def test_specs_are_evaluated_without_output_or_files(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = colbench.evaluate(agent="interviewer", **FEW)
    assert run.report.domains["backend"].success_rate.mean == 1.0
    assert [rollout.answer is not None for rollout in run.rollouts] == [True] * 3
    assert capsys.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_agent_human_and_tasks_can_be_objects(tmp_path):
    tasks = colbench.load_tasks("bundled:backend", limit=2)
    run = colbench.evaluate(agent=Asks(), human=Silent(), tasks=tasks, out=tmp_path / "run")
    assert [rollout.turns[0].human for rollout in run.rollouts] == ["I do not know."] * 2
    assert run.config.agent.endswith(":Asks")
    assert run.config.human.endswith(":Silent")
    again = colbench.load_run(tmp_path / "run")
    assert [task.hash for task in again.tasks] == [task.hash for task in tasks]
    assert again.report.domains["backend"].success_rate.mean == 0.0


def test_an_observer_sees_the_events_of_a_new_and_of_a_resumed_run(tmp_path):
    first, second = Watching(), Watching()
    for watching in (first, second):
        colbench.evaluate(agent="guesser", out=tmp_path / "run", observer=watching, **FEW)
    assert first.events[:2] == ["start", (0, 3)]
    assert first.events[-1] == "end"
    assert len(first.events) == 6
    finished = sorted(f"kept {name}" for name in first.events[2:5])
    assert [second.events[0], *second.events[4:]] == ["start", (3, 3), "end"]
    assert sorted(second.events[1:4]) == finished


async def test_evaluate_works_inside_a_running_event_loop():
    run = colbench.evaluate(agent="guesser", **FEW)
    assert len(run.rollouts) == 3
    also = await colbench.evaluate_async(agent=Asks(), **FEW)
    assert len(also.rollouts) == 3


def test_evaluate_works_in_a_thread():
    found: list[colbench.Run] = []
    thread = threading.Thread(
        target=lambda: found.append(colbench.evaluate(agent="guesser", **FEW))
    )
    thread.start()
    thread.join()
    assert len(found[0].rollouts) == 3


def test_a_run_without_a_folder_can_be_saved(tmp_path):
    run = colbench.evaluate(agent="guesser", **FEW)
    saved = run.save(tmp_path / "kept")
    assert colbench.load_run(tmp_path / "kept").rollouts == run.rollouts == saved.rollouts
    with pytest.raises(colbench.UserError, match="already exists"):
        run.save(tmp_path / "kept")


def test_a_run_converts_to_a_table_and_a_dataset():
    run = colbench.evaluate(agent="interviewer", **FEW)
    frame = run.to_pandas()
    assert list(frame["success"]) == [1.0] * 3
    assert list(frame["tests_passed"]) == [1.0] * 3
    assert set(frame["domain"]) == {"backend"}
    assert list(frame["turns"]) == [len(rollout.turns) for rollout in run.rollouts]
    dataset = run.to_dataset()
    assert dataset.num_rows == 3
    first = run.rollouts[0]
    assert dataset[0]["messages"][0] == {"role": "user", "content": first.request}
    assert dataset[0]["messages"][1]["content"] == first.turns[0].said
    assert dataset[0]["answer"] == first.answer
    assert set(frame.columns) < set(dataset.column_names)


class Hurries(Asks):
    """An agent that finishes its dialogues in the reverse order of the tasks."""

    def __init__(self, tasks: Sequence[colbench.Task]) -> None:
        self.requests = [task.request for task in tasks]

    async def reply(self, dialogue: Sequence[colbench.Message]) -> str:
        number = next(n for n, each in enumerate(self.requests) if each in dialogue[0].content)
        await asyncio.sleep(0.3 * (len(self.requests) - number))
        return f"{ANSWER_MARKER}\npass"


def test_rollouts_are_in_task_order_and_not_in_finishing_order(tmp_path):
    tasks = colbench.load_tasks("bundled:backend", limit=3)[::-1]
    run = colbench.evaluate(
        agent=Hurries(tasks), tasks=tasks, trials=2, out=tmp_path, sandbox_workers=1
    )
    planned = [(task.id, trial) for trial in (0, 1) for task in tasks]
    ended = [(each.task_id, each.trial) for each in run.folder.rollouts()]
    assert ended != planned
    assert [(each.task_id, each.trial) for each in run.rollouts] == planned
    assert run.to_pandas()["task_id"].tolist() == [name for name, _ in planned]

    (tmp_path / "tasks.jsonl").unlink()  # without this file, the order of the tasks is unknown
    again = colbench.load_run(tmp_path)
    assert [(each.task_id, each.trial) for each in again.rollouts] == ended


def test_two_runs_are_compared_on_their_common_tasks():
    asks = colbench.evaluate(agent="interviewer", **FEW)
    guesses = colbench.evaluate(agent="blank", **FEW | {"limit": 2})
    found = colbench.compare(asks, guesses).difference("tests_passed")
    assert (found.tasks, found.mean.mean, found.won) == (2, 1.0, 2)


def test_only_runs_are_compared_and_at_least_two():
    run = colbench.evaluate(agent="guesser", **FEW)
    with pytest.raises(colbench.UserError, match=r"compare takes runs, got 'x'; use .*load_run"):
        colbench.compare("x", "y")
    with pytest.raises(colbench.UserError, match="compare takes at least two runs, got 1"):
        colbench.compare(run)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"agent": "nobody"}, "--agent nobody: unknown"),
        ({"limt": 3}, "limt: unknown setting; did you mean `limit`?"),
        ({"trials": 0}, "trials: expected a whole number >= 1"),
        (
            {"domain": "backnd"},
            r"--domain backnd: unknown; did you mean `backend`\? Installed: backend, frontend",
        ),
        ({"agent": "designer", "tasks": "bundled:backend"}, "supports frontend tasks"),
        ({"observr": None}, "observr: unknown setting; did you mean `observer`?"),
        ({"out": 5}, "out: expected the path of a folder, got 5"),
        ({"observer": 3}, "observer: expected a colbench.Observer, got 3"),
        ({"tasks": []}, "tasks: expected a source.*; got an empty list"),
        ({"tasks": ["a"]}, "tasks: expected a source.*; got 'a'"),
        ({"agent": 42}, "agent: builtins:int has no method `reply`"),
        ({"agent": Asks}, "agent: .*:Asks is a class; pass an instance"),
        ({"human": 3}, "human: builtins:int has no method `respond`"),
        ({"human": Deaf()}, "human: `respond` of .*:Deaf must be `async def`"),
        ({"agent": None}, "agent: expected a spec or an object, got None"),
        ({"human": None}, "human: expected a spec or an object, got None"),
        ({"tasks": None}, "tasks: expected a spec or an object, got None"),
        (
            {"agent": lambda messages: "?"},
            "agent: a function cannot be passed; pass a spec, such as my_agent.py:",
        ),
        ({"tasks": lambda: []}, "tasks: a function cannot be passed; call it"),
        (
            {"agent": Asks(), "agent_args": {"x": 1}},
            "agent_args: cannot be used if the agent is given",
        ),
        (
            {"agent": Asks(), "agent_prompt": "x.txt"},
            "agent_prompt: cannot be used if the agent is",
        ),
        ({"human": Silent(), "human_args": {"x": 1}}, "human_args: cannot be used if the human is"),
        ({"retry_failed": 5}, "retry_failed: expected a reason or a list of reasons, got 5"),
        ({"agent_args": {"name": "\udcff"}}, r"agent_args: not valid Unicode: .*\\udcff"),
    ],
)
def test_a_wrong_argument_is_named(given, message):
    with pytest.raises(colbench.UserError, match=message):
        colbench.evaluate(**{"agent": "guesser", "limit": 1, **given})


def test_a_user_error_is_raised_without_a_chained_exception():
    with pytest.raises(colbench.UserError) as raised:
        colbench.evaluate(agent="my_agent.py:MyAgent")
    assert raised.value.__context__ is None


class Crashes:
    """An agent that fails in the dialogues about some tasks."""

    def __init__(self, *requests: str) -> None:
        self.requests = requests

    async def reply(self, dialogue: Sequence[colbench.Message]) -> str:
        if dialogue[0].content in self.requests:
            raise ValueError("boom")
        return f"{ANSWER_MARKER}\npass"


def test_a_warning_says_that_the_agent_failed_in_all_of_a_few_dialogues(caplog):
    first, second = tasks = colbench.load_tasks("bundled:backend", limit=2)
    run = colbench.evaluate(agent=Crashes(first.request, second.request), tasks=tasks)
    assert len(run.rollouts) == 2
    said = "every dialogue so far (2) failed in the agent's own code, for example: ValueError: boom"
    assert said in caplog.text
    caplog.clear()
    colbench.evaluate(agent=Crashes(first.request), tasks=tasks)
    assert "boom" not in caplog.text


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(colbench.DataError, match="is not a run folder"):
        colbench.load_run(tmp_path)


def test_two_evaluations_run_concurrently_in_one_event_loop():
    async def both() -> list[colbench.Run]:
        runs = (colbench.evaluate_async(agent=agent, **FEW) for agent in ("guesser", Asks()))
        return await asyncio.gather(*runs)

    assert [len(run.rollouts) for run in asyncio.run(both())] == [3, 3]


def test_a_run_with_task_objects_can_be_loaded(tmp_path):
    task = colbench.Task(
        id="one",
        domain="backend",
        request="Write f().",
        hidden=colbench.Hidden(reference="def f():\n    return 1", tests=("f()",)),
    )
    run = colbench.evaluate(
        agent="guesser", tasks=[task, task], out=tmp_path / "run", sandbox_workers=1
    )
    again = colbench.load_run(run.path)
    assert [each.id for each in again.tasks] == ["one", "one-2"]
    assert again.tasks[0].hidden.information == task.hidden.reference


def test_a_task_object_with_invalid_content_is_refused_with_its_id():
    hidden = colbench.Hidden(reference="", tests=("f()",))
    task = colbench.Task(id="one", domain="backend", request="Write f().", hidden=hidden)
    with pytest.raises(colbench.DataError, match=r"tasks: `one`: `ground_truth` is empty"):
        colbench.evaluate(agent="guesser", tasks=[task])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": ""}, r"tasks\[0\]: `id` is empty"),
        ({"request": "\ud800"}, "tasks: `one`: .*surrogate"),
    ],
)
def test_a_task_object_that_a_file_cannot_hold_is_refused(changes, message):
    hidden = colbench.Hidden(reference="def f():\n    return 1", tests=("f()",))
    fields = {"id": "one", "domain": "backend", "request": "Write f()."} | changes
    with pytest.raises(colbench.DataError, match=message):
        colbench.evaluate(agent="guesser", tasks=[colbench.Task(hidden=hidden, **fields)])


def test_a_run_on_changed_tasks_has_one_dialogue_for_each_task_and_trial(tmp_path):
    first, second = colbench.load_tasks("bundled:backend", limit=2)
    changed = replace(first, request=f"{first.request} Please.")
    settings = {"agent": "guesser", "out": tmp_path / "run", "sandbox_workers": 1}
    colbench.evaluate(tasks=[first, second], **settings)
    run = colbench.evaluate(tasks=[changed, second], **settings)
    hashes = [changed.hash, second.hash]
    assert [rollout.task_hash for rollout in run.rollouts] == hashes
    assert [task_hash for _, task_hash in run.stats["backend"]] == hashes
    assert run.to_pandas()["task_hash"].tolist() == hashes
    assert run.report.ignored == 1


def test_an_unrelated_task_file_in_the_folder_of_a_run_is_not_read(tmp_path):
    run = colbench.evaluate(agent="guesser", out=tmp_path / "run", **FEW)
    (run.path / "tasks.jsonl").write_text("stale")
    assert colbench.load_run(run.path).tasks == run.tasks


def test_the_task_file_of_a_run_is_found_from_another_folder(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("mine.jsonl").write_bytes(
        b"".join(encode_lines(colbench.load_tasks("bundled:backend", limit=1)))
    )
    run = colbench.evaluate(
        agent="guesser", tasks="mine.jsonl", out=tmp_path / "run", sandbox_workers=1
    )
    assert run.config.tasks == "mine.jsonl"
    monkeypatch.chdir(tmp_path)
    assert colbench.load_run(run.path).tasks == run.tasks


def test_the_text_of_a_run_has_its_score(tmp_path):
    run = colbench.evaluate(agent="interviewer", out=tmp_path / "run", **FEW)
    expected = f"<Run of interviewer: 3 tasks of bundled:backend, success 100.0%, {run.path}>"
    assert repr(run) == expected


def test_a_resumed_run_records_another_version_only_if_a_dialogue_runs(tmp_path):
    settings = {
        "agent": "guesser",
        "tasks": "bundled:backend",
        "out": tmp_path,
        "sandbox_workers": 1,
    }
    run = colbench.evaluate(limit=1, **settings)
    own = run.record.sandbox
    run.folder.save(replace(run.record, sandbox="another"))
    assert colbench.evaluate(limit=1, **settings).record.sandbox == "another"
    assert colbench.evaluate(limit=2, **settings).record.sandbox == f"another | {own}"
