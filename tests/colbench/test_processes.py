"""Several processes: the same results as with one, even if processes are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

import colbench
from colbench.config import RunConfig
from colbench.evaluation import Observer
from colbench.executors.choice import WORTH, count_processes
from colbench.executors.shares import shares
from colbench.models.scripted_server import Fault, ScriptedServer
from colbench.rollout import read_rollouts, without_times

AGENTS = """
import asyncio
import os
import signal
from pathlib import Path

ANSWER = "I WANT TO ANSWER: def f(): return 1"

class Dies:
    always = False
    async def reply(self, dialogue):
        if len(dialogue) == 1:
            return "What is the rate?"
        if dialogue[0].content == Path("victim").read_text():
            if self.always or not Path("died").exists():
                Path("died").touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return ANSWER

class DiesAlways(Dies):
    always = True

class Waits:
    async def reply(self, dialogue):
        if dialogue[0].content == Path("first").read_text():
            return ANSWER
        Path(f"waits-{os.getpid()}").touch()
        await asyncio.sleep(3600)

class Blocks(Waits):
    async def reply(self, dialogue):
        if dialogue[0].content == Path("first").read_text():
            return ANSWER
        Path(f"waits-{os.getpid()}").touch()
        while True:
            sum(range(10**7))

class Raises:
    async def reply(self, dialogue):
        raise ValueError("boom")

class NotBuilt:
    def __init__(self):
        if Path("parent").read_text() != str(os.getpid()):
            os.kill(os.getpid(), signal.SIGKILL)
    async def reply(self, dialogue):
        return ANSWER

class Alone:
    single_process = "it likes to be alone; leave it at 1"
    async def reply(self, dialogue):
        return ANSWER
"""
BACKEND = {"tasks": "bundled:backend", "agent": "interviewer"}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Return an empty folder to work in, with a file of agents and the requests of two tasks."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(AGENTS)
    tasks = colbench.load_tasks("bundled:backend", limit=6)
    (tmp_path / "first").write_text(tasks[0].request)
    (tmp_path / "victim").write_text(tasks[2].request)
    (tmp_path / "parent").write_text(str(os.getpid()))
    return tmp_path


def mine(name, **settings):
    """Run an agent of the file in the workers themselves, one dialogue at a time in each."""
    usual = {"tasks": "bundled:backend", "limit": 6, "concurrency": 2, "processes": 2}
    return colbench.evaluate(
        agent=f"mine.py:{name}", in_process=True, out="out", **(usual | settings)
    )


def same(one, other):
    """Return True if two runs have the same rollouts and the same report, except for times."""
    texts = [
        [msgspec.json.encode(without_times(each)) for each in run.rollouts] for run in (one, other)
    ]
    reports = [msgspec.to_builtins(run.report) for run in (one, other)]
    for report in reports:
        for domain in report["domains"].values():
            domain.pop("wall_seconds")
            domain.pop("seconds", None)
    return texts[0] == texts[1] and _no_times(reports[0]) == _no_times(reports[1])


def _no_times(value):
    if isinstance(value, dict):
        return {
            k: _no_times(v) for k, v in value.items() if "seconds" not in k and k != "processes"
        }
    if isinstance(value, list | tuple):
        return [_no_times(each) for each in value]
    return value


def test_results_equal_those_of_one_process():
    one = colbench.evaluate(**BACKEND, limit=12, trials=2)
    two = colbench.evaluate(**BACKEND, limit=12, trials=2, processes=2, concurrency=5)
    assert len(two.rollouts) == 24
    assert one.config.processes == 1
    assert two.config.processes == 2
    assert one.record.digest == two.record.digest
    assert one.record.sandbox == two.record.sandbox != ""
    assert same(one, two)


@pytest.mark.weekly
def test_two_browsers_render_and_score_pages_exactly_like_one(browser):
    settings = {"tasks": "bundled:frontend", "limit": 3, "browser": str(browser)}
    one = colbench.evaluate(**settings)
    two = colbench.evaluate(**settings, processes=2)
    assert one.record.environments == two.record.environments != {}
    assert same(one, two)


def test_tasks_that_were_given_as_objects_go_to_the_processes():
    tasks = colbench.load_tasks("bundled:backend", limit=4)[2:]
    run = colbench.evaluate(agent="interviewer", tasks=tasks, processes=2)
    assert [rollout.task_id for rollout in run.rollouts] == [task.id for task in tasks]
    assert run.report.domains["backend"].success_rate.mean == 1.0


def test_no_dialogue_is_lost_when_a_process_is_killed(here):
    run = mine("Dies")
    assert Path("died").exists()
    assert len(run.rollouts) == 6
    assert [rollout.failure for rollout in run.rollouts] == [None] * 6
    assert len(read_rollouts(Path("out/rollouts.jsonl"))) == 6


@pytest.mark.slow
def test_a_cell_that_kills_two_processes_is_unscored_and_retried_later(here):
    run = mine("DiesAlways")
    lost = [rollout for rollout in run.rollouts if rollout.failure]
    assert Path("victim").read_text() in [rollout.request for rollout in lost]
    assert len(lost) <= 2  # both times, another cell may have been scored at the same time
    for rollout in lost:
        assert (rollout.failure.boundary, rollout.failure.kind) == ("worker", "exception")
        assert "was ended by signal 9" in rollout.failure.reason
        assert (rollout.settled, rollout.scores) == (False, {})
    assert len(run.rollouts) == 6
    assert run.report.domains["backend"].unscored == len(lost)
    Path("victim").write_text("nobody")
    assert [rollout.failure for rollout in mine("DiesAlways").rollouts] == [None] * 6


def test_a_process_that_dies_before_it_is_ready_stops_the_run(here):
    with pytest.raises(
        colbench.UserError, match="--processes: a process was lost while .* signal 9"
    ):
        mine("NotBuilt")


def test_an_agent_whose_own_code_always_raises_stops_the_run(here):
    with pytest.raises(colbench.AgentError, match="ValueError: boom"):
        mine("Raises", limit=60)
    assert 10 <= len(read_rollouts(Path("out/rollouts.jsonl"))) < 20


def test_agents_and_humans_given_as_objects_are_limited_to_one_process(here):
    class Agent:
        async def reply(self, dialogue):
            return "I WANT TO ANSWER: pass"

    class Human:
        async def respond(self, task, dialogue):
            return "No."

    with pytest.raises(
        colbench.UserError, match=r"--processes 2: the agent .* my_agent.py:MyAgent"
    ):
        colbench.evaluate(agent=Agent(), processes=2)
    with pytest.raises(
        colbench.UserError, match=r"--processes 2: the human .* my_human.py:MyHuman"
    ):
        colbench.evaluate(human=Human(), processes=2)
    assert colbench.evaluate(agent=Agent(), processes="auto", limit=2).rollouts[0].answer == "pass"


def test_an_agent_can_require_a_single_process(here):
    with pytest.raises(
        colbench.UserError,
        match="--processes 2: the agent needs a run with a single process: it likes to be alone;",
    ):
        mine("Alone")
    assert len(mine("Alone", processes="auto").rollouts) == 6


def test_auto_starts_one_process_per_core_if_there_are_enough_dialogues():
    config = RunConfig(processes="auto")
    cores = len(os.sched_getaffinity(0))
    assert count_processes(config, WORTH - 1, "") == 1
    assert count_processes(config, WORTH * cores, "") == cores
    assert count_processes(config, WORTH * cores, "because") == 1
    assert count_processes(RunConfig(processes=8), 3, "") == 3
    assert count_processes(RunConfig(processes=8, concurrency=2), 100, "") == 2


def test_the_limits_of_a_run_are_divided_among_the_processes():
    parts = shares(RunConfig(sandbox_workers=5, browser_workers=1), 64, 3)
    assert [part.dialogues for part in parts] == [22, 21, 21]
    assert [part.sandbox_workers for part in parts] == [2, 2, 1]
    assert [part.browser_workers for part in parts] == [1, 1, 1]


def asks_once(messages):
    """Return a question, then an answer."""
    asked = any(message.role == "assistant" for message in messages)
    return "I WANT TO ANSWER: def f(): pass" if asked else "What is the rate?"


class Listener(Observer):
    def __init__(self):
        self.waits = []

    def on_wait(self, waits):
        self.waits.append(list(waits))


async def on_server(server, **settings):
    return await colbench.evaluate_async(
        agent=f"openai:scripted@{server.base_url}",
        agent_args={"client": "aiohttp", **settings.pop("agent_args", {})},
        processes=2,
        **settings,
    )


@pytest.mark.weekly
async def test_waiting_processes_report_each_server_once():
    refused = Fault(status=429, body="slow down", headers={"Retry-After": "4"})
    listener = Listener()
    async with ScriptedServer(asks_once, fault=lambda n: refused if n <= 4 else None) as server:
        run = await on_server(server, observer=listener, limit=4)
    assert [rollout.failure for rollout in run.rollouts] == [None] * 4
    told = [waits for waits in listener.waits if waits]
    assert told
    assert all(len(waits) == 1 for waits in told)
    assert any("4 requests waiting for" in waits[0] for waits in told)
    assert "HTTP 429: slow down" in told[0][0]


@pytest.mark.slow
async def test_the_limit_of_a_server_is_divided_among_the_processes():
    """Use a server that takes two requests at once; it would refuse some if each process could send two."""
    crowded = Fault(slots=2)
    async with ScriptedServer(asks_once, delay=0.05, fault=lambda n: crowded) as server:
        run = await on_server(server, limit=12, agent_args={"concurrency": 2})
    deliveries = [turn.agent_delivery for rollout in run.rollouts for turn in rollout.turns]
    assert len(deliveries) == 24
    assert {delivery.retries for delivery in deliveries} == {0}


@pytest.mark.slow
async def test_a_server_that_always_fails_stops_all_processes():
    broken = Fault(status=500, body="no")
    async with ScriptedServer(asks_once, fault=lambda n: broken) as server:
        with pytest.raises(colbench.EndpointError, match="20 dialogues in a row failed"):
            await on_server(server, limit=100, concurrency=8, agent_args={"retries": 0})
        asked = len(server.requests)
    assert asked < 100


@pytest.mark.slow
async def test_a_user_error_in_a_process_reaches_the_caller():
    async with ScriptedServer(asks_once) as server:
        with pytest.raises(colbench.UserError, match="other"):
            await colbench.evaluate_async(
                agent=f"openai:other@{server.base_url}", limit=4, processes=2
            )


@pytest.mark.slow
async def test_the_record_names_a_field_that_the_model_rejects():
    words = "Unsupported value: 'temperature' does not support 1.0 with this model."
    server = ScriptedServer(asks_once)
    server.fault = lambda n: (
        Fault(status=400, body=words) if "temperature" in server.requests[n - 1] else None
    )
    async with server:
        run = await on_server(server, limit=4)
    learned = ["it rejects `temperature`, so this field is not sent"]
    assert run.folder.record().learned == {"agent": learned}


@pytest.fixture
def started(here, start_run):
    """Start a run in which both workers have a dialogue that does not end."""

    def start(agent):
        flags = "--agent", f"mine.py:{agent}", "--processes", "2"
        return start_run(
            *flags, ready=lambda: len(list(Path().glob("waits-*"))) == 2 and finished(agent)
        )

    return start


def finished(agent):
    """Return True if a dialogue is finished, or if none will be because the agent blocks its process."""
    path = Path("out/rollouts.jsonl")
    return agent == "Blocks" or (path.exists() and path.stat().st_size > 0)


def descendants(process):
    """Return the ids of all descendants of a process, including its workers' children."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = {process.pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {process.pid}


@pytest.mark.parametrize("agent", ["Waits", "Blocks"])
def test_a_run_that_is_killed_leaves_no_process(started, processes_left, agent):
    with started(agent) as process:
        began = descendants(process)
        assert len(began) >= 4  # two workers, each with a sandbox
        process.kill()
    assert processes_left(began, 10) == set()


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_a_signal_ends_a_run_with_a_report_on_the_finished_dialogues(
    started, processes_left, number
):
    with started("Waits") as process:
        began = descendants(process)
        start = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert time.monotonic() - start < 10
    assert err.endswith("interrupted; repeat the command to continue\n")
    assert "Traceback" not in err
    assert "out/report.html" in out
    assert processes_left(began, 10) == set()
    assert len(read_rollouts(Path("out/rollouts.jsonl"))) == 1


@pytest.mark.weekly
def test_a_signal_ends_a_run_whose_processes_are_blocked(started, processes_left):
    with started("Blocks") as process:
        began = descendants(process)
        start = time.monotonic()
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
    assert time.monotonic() - start < 10
    assert err.endswith("interrupted; repeat the command to continue\n")
    assert processes_left(began, 10) == set()


@pytest.mark.slow
def test_a_run_can_be_resumed_with_a_different_number_of_processes(here):
    settings = {**BACKEND, "out": "run"}
    colbench.evaluate(**settings, limit=3, processes=2)
    run = colbench.evaluate(**settings, limit=6)
    run = colbench.evaluate(**settings, limit=9, processes=3)
    assert len(Path("run/rollouts.jsonl").read_bytes().splitlines()) == 9
    assert same(run, colbench.evaluate(**BACKEND, limit=9))


@pytest.mark.slow
def test_rescoring_by_several_processes_does_not_change_the_run(here, capsys):
    from colbench.cli import main

    colbench.evaluate(**BACKEND, limit=6, trials=2, out="run")
    rollouts, record = Path("run/rollouts.jsonl").read_bytes(), Path("run/run.json").read_bytes()
    assert main(["score", "run", "--processes", "2"]) == 0
    assert "12/12" in capsys.readouterr().err
    assert Path("run/rollouts.jsonl").read_bytes() == rollouts
    assert Path("run/run.json").read_bytes() == record


def test_an_unknown_executor_is_refused_in_one_line(here, capsys):
    from colbench.cli import main

    for name in ("spark", "ray:", "local:1"):
        assert main(["eval", "--executor", name, "--dry-run"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"colbench: --executor {name}: unknown; use local, ray, or")


def test_an_agent_given_as_an_object_is_refused_on_a_cluster(here):
    class Agent:
        async def reply(self, dialogue):
            return "I WANT TO ANSWER: pass"

    with pytest.raises(
        colbench.UserError, match="--executor ray: the agent was given as an object"
    ):
        colbench.evaluate(agent=Agent(), executor="ray")


def test_the_error_for_missing_ray_names_the_extra_to_install(here):
    code = (
        "import sys, colbench; sys.modules['ray'] = None\n"
        "colbench.evaluate(limit=1, executor='ray:head:6379')"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = "--executor ray:head:6379: Ray is not installed; install it: pip install 'colbench[ray]'"
    assert done.stderr.endswith(f"UserError: {said}\n")


def test_the_command_prints_the_number_of_processes(here, capsys):
    from colbench.cli import main

    assert main(["eval", "--limit", "4", "--processes", "2", "--out", "run"]) == 0
    said = capsys.readouterr()
    assert "workers 2 processes\n" in said.out
    assert "4/4" in said.err
    assert main(["eval", "--processes", "many"]) == 2
    assert "--processes: expected a whole number or auto, got many" in capsys.readouterr().err
