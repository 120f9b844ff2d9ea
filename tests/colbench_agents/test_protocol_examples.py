"""The protocol examples, in any language and without ColBench code: they keep every rule and finish a killed run."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from code_blocks import ROOT, blocks
from marking import mostly

from colbench.rollout import read_rollouts
from colbench_agents.http_agent import HTTPAgent
from colbench_agents.stdio_agent import StdioAgent

EXAMPLES = ROOT / "agents" / "examples"
DIALOGUES = 20


def wanted(program: str) -> str:
    """Return the path of a program; skip the test if it is not installed, but fail in CI."""
    found = shutil.which(program)
    if not found:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
            f"{program} is not installed"
        )
    return found


@contextmanager
def running(*command: object) -> Iterator[subprocess.Popen[str]]:
    """Yield a running program, and terminate it afterward."""
    words = [str(word) for word in command]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


@contextmanager
def spec_of(example: str) -> Iterator[str]:
    """Yield the value of `--agent` for an example."""
    if example == "http":
        with running(sys.executable, EXAMPLES / "http" / "agent.py", 0) as server:
            assert server.stdout
            yield server.stdout.readline().strip()
    else:
        program, file = {"node": ("node", "agent.js"), "bash": ("bash", "agent.sh")}[example]
        yield f"cmd:{wanted(program)} {EXAMPLES / example / file}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("example", "turns"),
    mostly(pytest.mark.weekly, (("node", 3), ("bash", 2), ("http", 2)), ("bash", 2)),
)
def test_an_example_finishes_a_killed_run(example: str, turns: int, tmp_path: Path):
    out = tmp_path / "run"
    with spec_of(example) as spec:
        command = [
            *(Path(sys.executable).with_name("colbench"), "eval", "--agent", spec),
            *("--limit", str(DIALOGUES), "--concurrency", "1", "--out", out),
        ]
        kill_after(3, command, out / "rollouts.jsonl")
        kept = read_rollouts(out / "rollouts.jsonl")
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert 3 <= len(kept) < DIALOGUES
    done = read_rollouts(out / "rollouts.jsonl")
    assert len({rollout.key for rollout in done}) == len(done) == DIALOGUES
    assert {rollout.key: rollout for rollout in done}.items() >= {r.key: r for r in kept}.items()
    for rollout in done:
        assert (rollout.failure, rollout.ended_by, len(rollout.turns)) == (None, "answer", turns)
        assert rollout.answer
        name = rollout.request.partition("def ")[2].partition("(")[0]
        assert rollout.answer == f"def {name}(*args):\n    return None"
        assert rollout.scores["default"].success is False, "nothing is right that returns nothing"


@pytest.mark.parametrize("example", mostly(pytest.mark.slow, ("node", "bash", "http"), "node"))
def test_an_example_keeps_every_rule(example: str):
    with spec_of(example) as spec:
        command = [Path(sys.executable).with_name("colbench"), "agents", "check", spec, "--json"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert json.loads(ended.stdout)["counts"].keys() == {"kept", "not applicable"}


def kill_after(number: int, command: list[object], rollouts: Path) -> None:
    """Run a command, and kill it without warning once there are this many rollouts."""
    harness = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    with harness:
        while harness.poll() is None:
            if rollouts.exists() and rollouts.read_bytes().count(b"\n") >= number:
                harness.send_signal(signal.SIGKILL)
            time.sleep(0.02)
    assert harness.returncode == -signal.SIGKILL


def snippet(number: int) -> str:
    """Return the first or the second JavaScript program in docs/agents.md."""
    program = [each.text for each in blocks("docs/agents.md") if each.language == "js"][number]
    assert program.count("\n") <= 10, "whole agents in at most ten lines"
    return program


async def test_the_stdio_program_in_the_guide_works_as_written(play, tmp_path: Path):
    file = tmp_path / "agent.js"
    file.write_text(snippet(0), "utf-8")
    done = await play(StdioAgent(f"{wanted('node')} {file}"), dialogues=3)
    assert [rollout.answer for rollout in done] == ["def f(*args):\n    return None"] * 3


async def test_the_http_server_in_the_guide_works_as_written(play, tmp_path: Path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    file = tmp_path / "agent.js"
    file.write_text(snippet(1).replace("8000", str(port)), "utf-8")
    with running(wanted("node"), file):
        done = await play(HTTPAgent(f"//127.0.0.1:{port}", retries=8), dialogues=3)
    assert [rollout.answer for rollout in done] == ["x = 1"] * 3
    assert [len(rollout.turns) for rollout in done] == [2] * 3
