"""`--agent-sandbox` on the command line: the same run as without it, pinned, and no process left at its end."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from colbench.cli import main
from colbench.rollout import read_rollouts
from colbench.sandbox.agent import AgentSandbox, Hidden
from colbench_agents.stdio_agent import StdioAgent

ROOT = Path(__file__).parents[2]
FAULTY = Path(__file__).with_name("faulty_agent.py")
HARNESS = """
import asyncio, sys
from colbench.interfaces import Episode
from colbench.sandbox.agent import AgentSandbox, Hidden
from colbench_agents.stdio_agent import StdioAgent

async def main():
    agent = StdioAgent(sys.argv[1])
    agent.prefix = AgentSandbox(agent.command, hidden=Hidden(places=(), checkouts=())).prefix()
    async with agent, agent.open(Episode(id="e", seed=1, max_turns=10)):
        print("open", flush=True)
        for _ in range(600):  # a signal just before a long wait is only seen after it
            await asyncio.sleep(0.1)

asyncio.run(main())
"""
PYTHON_AGENT = """
import json, sys
from pathlib import Path
from urllib.request import urlopen

def say(**message):
    print(json.dumps(message), flush=True)

say(type="ready", protocol="colbench-agent/1", name="python", concurrent=True)
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "messages":
        try:
            said = Path(__file__).with_name("tasks.jsonl").read_text()
        except OSError:
            said = "I am shut in."
        if len(sys.argv) > 1:
            said = urlopen(sys.argv[1]).read().decode()
        last = len(message["messages"]) > 1
        say(type="reply", episode=message["episode"], content=("I WANT TO ANSWER:\\n" if last else "") + said)
"""
TASK = {
    "problem_description": "def f(x)?",
    "ground_truth": "def f(x):\n    return x",
    "test_cases": {"test1": "f(1)"},
}


class Site(BaseHTTPRequestHandler):
    """A server of one page, which holds a question."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"Are there limits?")

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def evaluate(*flags: str, out: str) -> int:
    return main(["eval", "--limit", "3", "--concurrency", "2", "--out", out, *flags])


def boxed(*words: str) -> StdioAgent:
    agent = StdioAgent(shlex.join([sys.executable, "-S", str(FAULTY), *words]))
    hidden = Hidden(places=(), checkouts=())
    agent.prefix = AgentSandbox(agent.command, hidden=hidden).prefix()
    return agent


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Return an empty folder to work in, with an agent and a task file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(textwrap.dedent(PYTHON_AGENT))
    (tmp_path / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("node agents/examples/node/agent.js", id="node"),
        pytest.param("bash agents/examples/bash/agent.sh", id="bash", marks=pytest.mark.slow),
    ],
)
def test_an_example_agent_gives_the_same_run_in_the_sandbox(
    run, command, tmp_path, monkeypatch, capsys
):
    if not shutil.which(command.split()[0]):
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
            "the program is not installed"
        )
    monkeypatch.chdir(ROOT)
    agent = ["--agent", f"cmd:{command}"]
    assert evaluate(*agent, out=str(tmp_path / "free")) == 0
    walls = ["--agent-sandbox", "--agent-env", "PATH,NO_SUCH_KEY"]
    assert evaluate(*agent, *walls, out=str(tmp_path / "walled")) == 0
    said = capsys.readouterr().out
    assert "access  no network at all" in said
    assert "; not set in the environment: NO_SUCH_KEY\n" in said
    free, walled = (
        {rollout.task_id: rollout for rollout in read_rollouts(tmp_path / name / "rollouts.jsonl")}
        for name in ("free", "walled")
    )
    assert free.keys() == walled.keys()
    for task, rollout in walled.items():
        assert rollout.failure is None
        assert rollout.answer == free[task].answer
        assert [turn.said for turn in rollout.turns] == [turn.said for turn in free[task].turns]
        assert rollout.scores["default"].value == free[task].scores["default"].value


def test_a_task_file_next_to_the_agent_is_unreadable_and_the_run_is_pinned(run, here, capsys):
    flags = ["--agent", f"cmd:{sys.executable} agent.py", "--tasks", "tasks.jsonl"]
    assert evaluate(*flags, out="free") == 0
    assert evaluate(*flags, "--agent-sandbox", out="walled") == 0
    (free,) = read_rollouts(Path("free/rollouts.jsonl"))
    (walled,) = read_rollouts(Path("walled/rollouts.jsonl"))
    assert "ground_truth" in free.turns[0].said
    assert walled.turns[0].said == "I am shut in."
    assert json.loads(Path("walled/run.json").read_text())["pins"]["config"]["agent_sandbox"]
    assert evaluate(*flags, out="walled") == 2
    assert "config.agent_sandbox: True -> False" in capsys.readouterr().err


@pytest.mark.slow
def test_the_endpoint_is_reached_shown_and_pinned(run, here, capsys):
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_port
        url = f"http://127.0.0.1:{port}"
        flags = ["--agent", f"cmd:{sys.executable} agent.py {url}", "--tasks", "tasks.jsonl"]
        flags += ["--agent-sandbox", "--agent-endpoint"]
        codes = [
            evaluate(*flags, endpoint, out="out")
            for endpoint in (url + "/v1", f"127.0.0.1:{port}", "127.0.0.1:9")
        ]
        server.shutdown()
    assert codes == [0, 0, 2], "the second is the same endpoint"
    said = capsys.readouterr()
    assert f"no network except 127.0.0.1:{port}" in said.out
    assert "config.agent_endpoint" in said.err
    (rollout,) = read_rollouts(Path("out/rollouts.jsonl"))
    assert rollout.turns[0].said == "Are there limits?"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--agent", "blank", "--agent-sandbox"], "--agent-sandbox: only a program"),
        (["--agent", "http://127.0.0.1:9", "--agent-sandbox"], "--agent-sandbox: only a program"),
        (["--agent-endpoint", "127.0.0.1:9"], "--agent-endpoint: applies only to an isolated"),
        (["--agent-env", "KEY"], "--agent-env: applies only to an isolated agent"),
        (["--agent-sandbox", "--agent-endpoint", "nowhere"], "--agent-endpoint: `nowhere`"),
    ],
)
def test_invalid_sandbox_flags_are_refused(run, here, capsys, flags, said):
    assert evaluate(*flags, out="out") == 2
    assert said in capsys.readouterr().err
    assert not Path("out").exists()


def test_agent_sandbox_without_bubblewrap_is_refused(here, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(here))
    assert evaluate("--agent", f"cmd:{sys.executable} agent.py", "--agent-sandbox", out="out") == 2
    said = capsys.readouterr().err
    assert "bubblewrap is not installed" in said
    assert "apt-get install bubblewrap" in said
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("crashes", "ended with code 3; end of its standard error: the weights are gone"),
        ("is-killed", "signal 9 ended it"),
        ("half-a-line", 'ended with code 0 in the middle of a line: {"type": "reply", "e'),
        ("closes-output", "closed its standard output"),
    ],
)
async def test_a_fault_in_the_sandbox_has_the_same_reason(run, play, fault, reason):
    (done,) = await play(boxed(fault))
    assert done.failure
    assert reason in done.failure.reason


@pytest.mark.slow
async def test_sigterm_reaches_the_agent(run, play, tmp_path):
    file = tmp_path / "agent.sh"
    file.write_text(
        """
        trap 'echo heard it >&2; exit' TERM
        echo '{"type": "ready", "protocol": "colbench-agent/1", "name": "sh"}'
        read line; read line
        while :; do sleep 0.1; done
        """
    )
    agent = StdioAgent(f"sh {file}")
    agent.prefix = AgentSandbox(agent.command, hidden=Hidden(places=(), checkouts=())).prefix()
    agent.use_log_folder(tmp_path / "log")
    await play(agent, seconds=1.0)
    assert "heard it" in (tmp_path / "log" / "stderr.log").read_text()


@pytest.mark.parametrize("more", [["has-children"], ["stays"]])
async def test_no_process_remains_after_a_dialogue(run, play, name, more):
    (done,) = await play(boxed(*more, name.word))
    assert done.answer == "x = 1"
    assert name.processes() == []


def test_no_process_outlives_a_killed_harness(run, name):
    command = shlex.join([sys.executable, "-S", str(FAULTY), "has-children", name.word])
    with subprocess.Popen(
        [sys.executable, "-c", HARNESS, command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as harness:
        assert harness.stdout
        assert harness.stdout.readline() == b"open\n"
        assert name.begun(6), "watchdog, launcher, bubblewrap twice, agent, children"
        harness.send_signal(signal.SIGKILL)
    assert name.left() == []
