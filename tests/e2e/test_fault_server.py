"""Runs in their own processes against servers with faults: a server from the command line, and runs that are killed."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import colbench
from colbench.messages import ANSWER_MARKER, Message
from colbench.models.fault_server import FaultServer, talk
from colbench.rollout import iter_rollouts

COMMAND = (sys.executable, "-m", "colbench.cli")
COMBINED = "http-429/3+truncated/5+cut-in-middle/7"
KILLS = 3


def evaluate(url: str, agent: str, human: str, *flags: str) -> list[str]:
    """Return the command of a run whose agent and human use the same server."""
    roles = ("--agent", f"openai:{agent}@{url}", "--human", f"openai:{human}@{url}")
    return [*COMMAND, "eval", *roles, "--sandbox-workers", "1", *flags]


@pytest.fixture
def served(tmp_path):
    """Yield the output of a running `colbench doctor --serve-faults`, and stop it with Ctrl-C."""
    command = [*COMMAND, "doctor", "--serve-faults", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as server:
        assert server.stdout
        lines = []
        while not lines or "Ctrl-C" not in lines[-1]:
            lines.append(server.stdout.readline())
            assert lines[-1], "".join(lines)
        text = "".join(lines)
        assert "http-429" in text
        assert "o-series" in text
        try:
            yield text
        finally:
            server.send_signal(signal.SIGINT)
            assert server.wait(10) == 0


def test_the_fault_server_first_shows_how_to_try_it_without_faults(served):
    trial = r"Try it without faults: colbench eval --agent openai:ok@http://127\.0\.0\.1:\d+/v1 --limit 5\n"
    assert re.match(trial, served)


@pytest.mark.weekly
def test_runs_against_the_served_faults_end_with_the_right_exit_codes(served, tmp_path):
    url = re.findall(r"NAME@(http://\S+)", served)[0]
    for name, code in [("http-429/3+html/5", 0), ("null", 1), ("http-404", 2)]:
        flags = ("--tasks", "bundled:backend", "--limit", "2", "--out", name.replace("/", "-"))
        command = evaluate(url, name, "ok", *flags)
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ended.returncode == code, ended.stderr
        assert "Traceback" not in ended.stderr


def test_a_port_in_use_or_out_of_range_is_reported():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for port in (taken.getsockname()[1], 70000):
            command = [*COMMAND, "doctor", "--serve-faults", str(port)]
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
            assert ended.returncode == 2
            assert ended.stderr.startswith(f"colbench: --serve-faults {port}: ")


@pytest.mark.slow
async def test_a_run_killed_amid_three_faults_loses_and_repeats_no_dialogue(tmp_path):
    tasks = colbench.load_tasks("bundled:backend", limit=24)

    def expert(messages: Sequence[Message]) -> str:
        said = talk(messages)
        if not said.startswith(ANSWER_MARKER):
            return said
        heard = {message.content for message in messages}
        (task,) = (task for task in tasks if task.request in heard)
        return f"{ANSWER_MARKER}\n{task.hidden.reference}"

    out = tmp_path / "run"
    async with FaultServer(expert) as server:
        flags = ("--tasks", "bundled:backend", "--limit", "24", "--concurrency", "4")
        command = evaluate(server.base_url, COMBINED, COMBINED, *flags, "--out", str(out))
        kept: dict[str, str] = {}
        for kill in range(1, KILLS + 1):
            await killed(command, out, 5 * kill)
            kept |= finished(out)
        resumed = await asyncio.create_subprocess_exec(*command)
        assert await resumed.wait() == 0
    lines = list(iter_rollouts(out / "rollouts.jsonl"))
    assert len(lines) == len({line.key for line in lines}) == 24
    assert all(line.scores["default"].success for line in lines)
    assert kept.items() <= finished(out).items()
    report = json.loads((out / "report.json").read_text())["domains"]["backend"]
    assert report["unscored"] == 0


async def killed(command: Sequence[str], out: Path, dialogues: int) -> None:
    """Start a run, and kill it when this many dialogues are finished."""
    process = await asyncio.create_subprocess_exec(*command)
    async with asyncio.timeout(120):
        while len(finished(out)) < dialogues:
            assert process.returncode is None
            await asyncio.sleep(0.02)
    process.kill()
    await process.wait()


def finished(out: Path) -> dict[str, str]:
    """Return the start time of each finished dialogue."""
    path = out / "rollouts.jsonl"
    return {each.key: each.started for each in iter_rollouts(path)} if path.exists() else {}
