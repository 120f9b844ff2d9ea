"""A Ray cluster: the same results as with one process, even if nodes are killed."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

import colbench
from colbench.cli import main
from colbench.evaluation import Observer
from colbench.messages import ANSWER_MARKER
from colbench.rollout import read_rollouts, without_times
from colbench.shards import in_shard
from sweet_rl_trainer.agents.continuations import HarnessContinuations, Opening

pytest.importorskip("ray", reason="Ray is not installed: pip install 'colbench[ray]'")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"
    ),
]
MEMORY = 80 * 2**20
"""Bytes of a node's object store: the minimum that Ray accepts."""
AGENTS = """
import asyncio
import os
import signal
from pathlib import Path

ANSWER = "I WANT TO ANSWER: def f(): return 1"

class Slow:
    async def reply(self, dialogue):
        Path(f"worker-{os.getpid()}").touch()
        await asyncio.sleep(0.2)
        return "What is the rate?" if len(dialogue) == 1 else ANSWER

class WaitsForAnother:
    async def reply(self, dialogue):
        Path(f"worker-{os.getpid()}").touch()
        while len(list(Path().glob("worker-*"))) < 2:
            await asyncio.sleep(0.05)
        return ANSWER

class WaitsForEver:
    async def reply(self, dialogue):
        if dialogue[0].content == Path("first").read_text():
            return ANSWER
        Path(f"worker-{os.getpid()}").touch()
        await asyncio.sleep(3600)

class DiesAlways:
    async def reply(self, dialogue):
        if dialogue[0].content == Path("victim").read_text():
            os.kill(os.getpid(), signal.SIGKILL)
        return ANSWER
"""
BACKEND = {"tasks": "bundled:backend", "agent": "interviewer"}


class Nodes:
    """The nodes that a test adds to a cluster; the head has no CPU, so no dialogue runs there."""

    def __init__(self, cluster):
        self.address = cluster.address
        self._cluster = cluster
        self._nodes = []

    def add(self, **settings):
        usual = {"num_cpus": 1, "object_store_memory": MEMORY, "include_dashboard": False}
        self._nodes.append(self._cluster.add_node(**(usual | settings)))
        return self._nodes[-1]

    def kill(self, node):
        """End all processes of a node, as when a machine is lost."""
        self._nodes.remove(node)
        self._cluster.remove_node(node, allow_graceful=False)

    def clear(self):
        for node in list(self._nodes):
            self.kill(node)


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 0,
            "object_store_memory": MEMORY,
            "include_dashboard": False,
            "_system_config": {"worker_niceness": 0},  # otherwise they starve while other tests run
        },
    )
    yield cluster
    cluster.shutdown()


@pytest.fixture
def nodes(cluster, tmp_path, monkeypatch):
    """Yield a cluster without nodes, in an empty folder with a file of agents and the requests of two tasks."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(AGENTS)
    tasks = colbench.load_tasks("bundled:backend", limit=6)
    (tmp_path / "first").write_text(tasks[0].request)
    (tmp_path / "victim").write_text(tasks[2].request)
    nodes = Nodes(cluster)
    yield nodes
    nodes.clear()


def evaluate(nodes, **settings):
    return colbench.evaluate(executor=f"ray:{nodes.address}", **settings)


def mine(name, **settings):
    """Return the settings of a run in which an agent of the file runs in the workers themselves."""
    usual = {"tasks": "bundled:backend", "limit": 6, "concurrency": 1, "out": "out"}
    return {"agent": f"mine.py:{name}", "in_process": True, **usual, **settings}


def texts(run):
    """Return the rollouts of a run as bytes, without times."""
    return [msgspec.json.encode(without_times(each)) for each in run.rollouts]


class After(Observer):
    """An observer that sets `reached` after `count` finished dialogues; if `count` is 0, when dialogues begin."""

    def __init__(self, count):
        self.reached = threading.Event()
        self._count = count

    def on_resume(self, kept, total):
        self._look()

    def on_rollout(self, rollout):
        self._count -= 1
        self._look()

    def _look(self):
        if self._count == 0:
            self.reached.set()


def evaluate_while(nodes, work, *, after, **settings):
    """Evaluate in a thread; call `work` in the main thread, where nodes start, after `after` finished dialogues."""
    listener = After(after)
    with ThreadPoolExecutor(1) as thread:
        run = thread.submit(evaluate, nodes, observer=listener, **settings)
        assert listener.reached.wait(90)
        work()
        return run.result()


def test_results_on_a_cluster_equal_local_results(nodes):
    nodes.add()
    nodes.add(num_cpus=2)
    there = evaluate(nodes, **BACKEND, limit=12, trials=2, processes=2, concurrency=4)
    here = colbench.evaluate(**BACKEND, limit=12, trials=2)
    assert len(there.rollouts) == 24
    assert there.config.executor == f"ray:{nodes.address}"
    assert there.record.digest == here.record.digest
    assert there.record.sandbox == here.record.sandbox != ""
    assert texts(there) == texts(here)


@pytest.mark.weekly
def test_a_node_renders_and_scores_pages_exactly_like_this_machine(nodes, browser):
    nodes.add()
    settings = {"tasks": "bundled:frontend", "limit": 2, "browser": str(browser)}
    there, here = evaluate(nodes, **settings), colbench.evaluate(**settings)
    assert there.record.environments == here.record.environments != {}
    assert texts(there) == texts(here)


def test_no_dialogue_is_lost_when_a_node_is_killed(nodes):
    victim, _ = nodes.add(), nodes.add()
    settings = mine("Slow", limit=24, concurrency=4)
    there = evaluate_while(nodes, lambda: nodes.kill(victim), after=3, **settings)
    assert len(list(Path().glob("worker-*"))) == 2
    assert len(read_rollouts(Path("out/rollouts.jsonl"))) == 24
    assert texts(there) == texts(colbench.evaluate(**(settings | {"out": "here"})))


@pytest.mark.weekly
def test_a_node_that_joins_later_takes_part(nodes):
    nodes.add()
    run = evaluate_while(nodes, nodes.add, after=0, **mine("WaitsForAnother"))
    assert len(list(Path().glob("worker-*"))) == 2
    assert [rollout.failure for rollout in run.rollouts] == [None] * 6


@pytest.mark.weekly
def test_a_run_that_lost_all_nodes_continues_on_a_new_one(nodes):
    only = nodes.add()

    def exchange():
        nodes.kill(only)
        nodes.add()

    run = evaluate_while(nodes, exchange, after=2, **mine("Slow"))
    assert len(list(Path().glob("worker-*"))) == 2
    assert [rollout.failure for rollout in run.rollouts] == [None] * 6


@pytest.mark.weekly
def test_a_shard_without_dialogues_ends_at_once(nodes):
    nodes.add()
    (task,) = colbench.load_tasks("bundled:backend", limit=1)
    empty = next(n for n in (1, 2, 3) if not in_shard((n, 3), task.id, task.hash, 0))
    assert evaluate(nodes, **BACKEND, limit=1, shard=(empty, 3)).rollouts == []


@pytest.mark.weekly
def test_a_run_without_nodes_stops_and_can_be_resumed(nodes):
    only = nodes.add()
    settings = mine("Slow", endpoint_patience=3)
    with pytest.raises(colbench.EndpointError, match="no node of the Ray cluster .* for 3 s"):
        evaluate_while(nodes, lambda: nodes.kill(only), after=2, **settings)
    before = len(read_rollouts(Path("out/rollouts.jsonl")))
    assert 2 <= before < 6
    assert len(colbench.evaluate(**settings).rollouts) == 6


@pytest.mark.weekly
def test_a_cell_that_kills_two_workers_is_unscored_and_retried_later(nodes):
    nodes.add()
    run = evaluate(nodes, **mine("DiesAlways"))
    lost = [rollout for rollout in run.rollouts if rollout.failure]
    assert Path("victim").read_text() in [rollout.request for rollout in lost]
    for rollout in lost:
        assert (rollout.failure.boundary, rollout.settled, rollout.scores) == ("worker", False, {})
        assert "was ended by signal 9" in rollout.failure.reason
    assert len(run.rollouts) == 6
    Path("victim").write_text("nobody")
    assert [each.failure for each in evaluate(nodes, **mine("DiesAlways")).rollouts] == [None] * 6


@pytest.mark.weekly
def test_the_command_evaluates_and_scores_on_a_cluster(nodes, capsys):
    nodes.add()
    there = ["--executor", f"ray:{nodes.address}"]
    assert main(["eval", "--limit", "4", "--out", "run", *there]) == 0
    said = capsys.readouterr()
    assert f"workers ray:{nodes.address}, 1 process on each node\n" in said.out
    assert "4/4" in said.err
    rollouts, record = Path("run/rollouts.jsonl").read_bytes(), Path("run/run.json").read_bytes()
    assert main(["score", "run", *there]) == 0
    assert "4/4" in capsys.readouterr().err
    assert Path("run/rollouts.jsonl").read_bytes() == rollouts
    assert Path("run/run.json").read_bytes() == record


@pytest.mark.weekly
def test_sweet_rl_continuations_get_the_same_rewards_on_a_cluster(nodes):
    nodes.add()
    first = colbench.evaluate(**BACKEND, limit=2, out="run")
    openings = [
        Opening(task=task, heard=(task.request,), replies=(reply,))
        for task in first.tasks
        for reply in ("What is the rate?", f"{ANSWER_MARKER}: pass")
    ]
    there = replace(first.config, executor=f"ray:{nodes.address}")
    rewards = HarnessContinuations(Path("there"), there)(openings, 2)
    assert rewards == HarnessContinuations(Path("here"), first.config)(openings, 2)
    assert rewards == [[1.0, 1.0], [0.0, 0.0]] * 2


@pytest.mark.weekly
def test_environment_variables_that_an_agent_needs_reach_the_nodes(nodes, monkeypatch):
    nodes.add()
    monkeypatch.setenv("MY_KEY", "secret")
    agent = {"agent": "openai:m@http://localhost:1/v1", "agent_args": {"api_key_env": "MY_KEY"}}
    with pytest.raises(colbench.UserError, match="no model server answers at http://localhost:1"):
        evaluate(nodes, **agent, tasks="bundled:backend", limit=1)


def test_an_address_without_a_cluster_is_refused_with_advice_in_one_line(nodes, capsys):
    assert main(["eval", "--limit", "1", "--executor", "ray:127.0.0.1:1", "--out", "run"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--executor ray:127.0.0.1:1: nothing answers at 127.0.0.1:1: " in line
    assert "ray start --head" in line


@pytest.mark.weekly
def test_a_node_with_a_different_colbench_version_is_refused(nodes, tmp_path):
    package = Path(colbench.__file__).parent
    other = tmp_path / "other" / "colbench"
    other.mkdir(parents=True)
    for file in package.iterdir():
        (other / file.name).symlink_to(file)
    (other / "version.py").unlink()
    (other / "version.py").write_text((package / "version.py").read_text().replace('= "', '= "9.'))
    nodes.add(env_vars={"PYTHONPATH": f"{other.parent}:{os.environ.get('PYTHONPATH', '')}"})
    with pytest.raises(
        colbench.UserError, match=r"node .* has ColBench 9\.\S+, but the run has \d"
    ):
        evaluate(nodes, **BACKEND, limit=1)


@pytest.mark.weekly
def test_a_node_with_another_sandbox_is_refused(nodes):
    nodes.add()
    nodes.add(env_vars={"PATH": "/nowhere"})  # a folder without bubblewrap
    wrong = "node .* has sandbox isolation = .*, but the run has .*; install the same software"
    with pytest.raises(colbench.UserError, match=wrong):
        evaluate(nodes, **mine("WaitsForAnother"))


@pytest.fixture
def started(nodes, start_run):
    """Start a run in which a dialogue that does not end has begun and another one is finished."""
    finished = Path("out/rollouts.jsonl")

    def ready():
        return bool(workers()) and finished.exists() and finished.stat().st_size > 0

    flags = "--agent", "mine.py:WaitsForEver", "--executor", f"ray:{nodes.address}"
    return lambda: start_run(*flags, ready=ready, patience=90)


def workers():
    return {int(path.name.removeprefix("worker-")) for path in Path().glob("worker-*")}


@pytest.mark.weekly
def test_a_run_that_is_killed_leaves_no_worker(nodes, started, processes_left):
    nodes.add()
    with started() as process:
        process.kill()
        process.wait()
        assert processes_left(workers(), 30) == set()


@pytest.mark.weekly
def test_a_signal_ends_a_run_with_a_report_on_the_finished_dialogues(
    nodes, started, processes_left
):
    nodes.add()
    with started() as process:
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert err.endswith("interrupted; repeat the command to continue\n")
    assert "Traceback" not in err
    assert "out/report.html" in out
    assert processes_left(workers(), 10) == set()
