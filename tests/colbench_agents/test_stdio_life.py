"""Agents over stdin and stdout: what they write to standard error is kept, and no process is left running."""

from __future__ import annotations

import asyncio
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from colbench.agent_process.command import LOG_BYTES, LOG_FILES
from colbench.agent_process.program import Program
from colbench_agents.stdio_agent import StdioAgent

FAULTY = Path(__file__).with_name("faulty_agent.py")
HARNESS = """
import asyncio, sys
from colbench.interfaces import Episode
from colbench_agents.stdio_agent import StdioAgent

async def main():
    agent = StdioAgent(sys.argv[1])
    async with agent, agent.open(Episode(id="e", seed=1, max_turns=10)):
        print("open", flush=True)
        for _ in range(600):  # a signal just before a long wait is only seen after it
            await asyncio.sleep(0.1)

asyncio.run(main())
"""


def command(fault: str, *more: str) -> str:
    return shlex.join([sys.executable, "-S", str(FAULTY), fault, *more])


def faulty(fault: str, *more: str) -> StdioAgent:
    return StdioAgent(command(fault, *more))


async def test_standard_error_is_kept_with_the_id_of_the_dialogue(play, tmp_path):
    agent = faulty("chatters", "3")
    agent.use_log_folder(tmp_path / "agent-log")
    (done,) = await play(agent)
    kept = (tmp_path / "agent-log" / "stderr.log").read_text().splitlines()
    own = [line for line in kept if line.startswith(done.key[:16])]
    assert own == [f"{done.key[:16]} chatter {n}" for n in range(3)]


RAISES = """
import sys
from json import loads

def reads(text):
    return loads(text)

print('{"type": "ready", "protocol": "colbench-agent/1", "name": "raises"}', flush=True)
try:
    sys.stdin.readline()
    reads("{")
except ValueError as error:
    raise RuntimeError("cannot read") from error
"""


async def test_a_crash_in_python_quotes_the_error_and_names_the_log(play, tmp_path):
    (tmp_path / "raises.py").write_text(RAISES)
    agent = StdioAgent(shlex.join([sys.executable, "-S", str(tmp_path / "raises.py")]))
    agent.use_log_folder(tmp_path / "agent-log")
    (done,) = await play(agent)
    assert done.failure.kind == "exception"
    assert done.failure.reason == (
        "it ended with code 1; end of its standard error: RuntimeError: cannot read (raises.py:13); "
        "full log: agent-log/stderr.log in the run's folder"
    )


@pytest.mark.slow
async def test_the_log_is_bounded(play, tmp_path):
    agent = faulty("floods", str(LOG_BYTES * (LOG_FILES + 1)))
    agent.use_log_folder(tmp_path)
    await play(agent)
    files = sorted(file.name for file in tmp_path.iterdir())
    assert files == ["stderr.log", *(f"stderr.log.{n}" for n in range(1, LOG_FILES))]
    assert all(file.stat().st_size <= LOG_BYTES for file in tmp_path.iterdir())


async def test_children_end_with_the_dialogue(play, name):
    (done,) = await play(faulty("has-children", name.word))
    assert done.answer == "x = 1"
    assert name.processes() == []


async def test_an_agent_that_ignores_sigterm_is_killed(play, name):
    (done,) = await play(faulty("stays", name.word))
    assert done.answer == "x = 1"
    assert name.processes() == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_no_process_outlives_a_killed_harness(name, number):
    harness = subprocess.Popen(
        [sys.executable, "-c", HARNESS, command("has-children", name.word)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with harness:
        assert harness.stdout
        assert harness.stdout.readline() == b"open\n"
        assert name.begun(4), "the watchdog, the agent and its two children"
        harness.send_signal(number)
    assert name.left() == []


@pytest.mark.slow
def test_no_process_outlives_a_harness_interrupted_twice(name):
    harness = subprocess.Popen(
        [sys.executable, "-c", HARNESS, command("has-children", name.word, "stays")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with harness:
        assert harness.stdout
        harness.stdout.readline()
        for _ in range(2):
            harness.send_signal(signal.SIGINT)
            time.sleep(0.3)
    assert name.left() == []


@pytest.mark.slow  # a wait of 11 seconds
def test_a_program_that_ignores_sigterm_is_killed_after_a_shorter_first_wait():
    async def stopped() -> int:
        loop = "trap '' TERM; echo $$; while true; do sleep 0.2; done"
        program = Program(["sh", "-c", loop], heard=lambda line: None, grace=11)
        await program.spawn()
        number = int(await program.line())
        program.grace = 0
        await program.stop()
        return number

    assert not Path(f"/proc/{asyncio.run(stopped())}").exists()
