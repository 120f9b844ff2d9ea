"""Agents that misbehave in a run of the `eval` command, and signals that stop one."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import pytest
from marking import mostly

from colbench.cli import main
from colbench.rollout import read_rollouts

AGENTS = """
import asyncio
import re
import shutil
import sys
import time
from pathlib import Path

ANSWER = "I WANT TO ANSWER: def f(): return 1"

async def swallow():
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass

class OneOf:
    begun = 0
    async def reply(self, dialogue):
        if len(dialogue) == 1:
            self.begun += 1
            if self.begun == 2:
                await self.misbehave()
            await asyncio.sleep(0.2)
            return "What is the rate?"
        return ANSWER

class Blocks(OneOf):
    async def misbehave(self):
        time.sleep(3600)

class Swallows(OneOf):
    async def misbehave(self):
        await swallow()

class Always:
    async def reply(self, dialogue):
        if dialogue[0].content and not Path("begun").exists():
            Path("begun").touch()
            return ANSWER
        Path("late").touch()
        return await self.misbehave()

class SleepsInTheLoop(Always):
    async def misbehave(self):
        while True:
            try:
                time.sleep(3600)
            except Exception:
                pass

class KeepsTheGIL(Always):
    async def misbehave(self):
        re.match(r"(a+)+$", "a" * 60 + "b")

class WaitsInAThread(Always):
    async def misbehave(self):
        await asyncio.to_thread(time.sleep, 3600)

class SwallowsAlways(Always):
    async def misbehave(self):
        await swallow()

class StopsForEver(Always):
    async def misbehave(self):
        await asyncio.sleep(3600)
    async def __aenter__(self):
        return self
    async def __aexit__(self, *error):
        await swallow()

class StopsForEverInTheLoop(StopsForEver):
    async def __aexit__(self, *error):
        while True:
            try:
                time.sleep(3600)
            except BaseException:
                pass

class Deletes:
    async def reply(self, dialogue):
        shutil.rmtree("out", ignore_errors=True)
        return ANSWER

class Raises:
    async def reply(self, dialogue):
        raise ValueError("boom")

class SaysNothing:
    async def reply(self, dialogue):
        return None
"""


PLACES = [pytest.param([], id="own-process"), pytest.param(["--in-process"], id="in-process")]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Return the working folder of the test, which contains only a file of agents."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(AGENTS)
    return tmp_path


def colbench(agent, *flags):
    command = [sys.executable, "-m", "colbench.cli", "eval", "--agent", f"mine.py:{agent}"]
    return [*command, "--agent-write", ".", "--out", "out", *flags]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        ("Blocks", "blocked the event loop; run the blocking code with asyncio.to_thread"),
        ("Swallows", "did not end within 5 s after CancelledError, so the call was abandoned"),
    ],
)
@pytest.mark.parametrize("place", PLACES)
def test_one_misbehaving_dialogue_times_out_and_the_others_finish(here, agent, reason, place):
    flags = ["--limit", "6", "--dialogue-timeout", "1.5", *place]
    subprocess.run(colbench(agent, *flags), check=True, capture_output=True, timeout=60)
    rollouts = read_rollouts(Path("out/rollouts.jsonl"))
    (failed,) = [rollout for rollout in rollouts if rollout.failure]
    assert failed.failure.kind == "timeout"
    assert failed.failure.reason.startswith("no answer in time: mine.py:")
    assert failed.failure.reason.endswith(reason)
    assert len([rollout for rollout in rollouts if rollout.answer]) == 5


def stop(agent, number, *flags, pauses=(0,)):
    """Start a run; when its first dialogue is finished and others misbehave, send it signals after pauses."""
    process = subprocess.Popen(
        colbench(agent, "--limit", "12", "--concurrency", "3", *flags),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    path = Path("out/rollouts.jsonl")
    end = time.monotonic() + 60
    while not (Path("late").exists() and path.exists() and path.stat().st_size):
        assert time.monotonic() < end
        assert process.poll() is None, process.communicate()
        if agent in BLOCKING and Path("late").exists():
            break
        time.sleep(0.05)
    time.sleep(0.5)
    start = time.monotonic()
    for pause in pauses:
        time.sleep(pause)
        process.send_signal(number)
    out, err = process.communicate(timeout=30)
    return process.returncode, time.monotonic() - start, out, err


BLOCKING = {"SleepsInTheLoop", "KeepsTheGIL"}


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_a_signal_stops_a_run_with_a_report_of_the_finished_dialogues(here, number):
    code, _, out, err = stop("WaitsInAThread", number)
    assert code == 128 + number
    assert "stopping: finished dialogues are kept" in err
    assert err.endswith("interrupted; repeat the command to continue\n")
    assert "Traceback" not in err
    assert "out/report.html" in out
    assert json.loads(Path("out/report.json").read_text())["domains"]["backend"]["unscored"] == 11
    assert len(read_rollouts(Path("out/rollouts.jsonl"))) == 1


@pytest.mark.parametrize(
    ("agent", "place"),
    mostly(
        pytest.mark.slow,
        product(
            (
                "SleepsInTheLoop",
                "KeepsTheGIL",
                "SwallowsAlways",
                "StopsForEver",
                "StopsForEverInTheLoop",
            ),
            ([], ["--in-process"]),
        ),
        ("KeepsTheGIL", []),
        ("StopsForEverInTheLoop", ["--in-process"]),
    ),
)
def test_a_signal_stops_a_run_within_ten_seconds_regardless_of_the_agent(here, agent, place):
    code, seconds, _, err = stop(agent, signal.SIGTERM, *place)
    assert code == 128 + signal.SIGTERM
    assert seconds < 10
    assert "repeat the command to continue" in err
    failures = [rollout.failure for rollout in read_rollouts(Path("out/rollouts.jsonl"))]
    assert [failure for failure in failures if failure] == []


def test_a_second_signal_stops_a_run_at_once(here):
    code, seconds, _, err = stop("StopsForEver", signal.SIGINT, pauses=(0, 1.2))
    assert code == 128 + signal.SIGINT
    assert seconds < 3
    assert err.endswith("stopped at once, without a report; repeat the command to continue\n")


def test_a_signal_repeated_at_once_as_by_gnu_timeout_counts_once(here):
    code, _, out, err = stop("WaitsInAThread", signal.SIGTERM, pauses=(0, 0.05))
    assert code == 128 + signal.SIGTERM
    assert "out/report.html" in out
    assert err.endswith("interrupted; repeat the command to continue\n")


@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        ("Raises", "ValueError: boom (mine.py:"),
        (
            "SaysNothing",
            "reply() returned NoneType; it must return a Message with text, or a str; fix",
        ),
    ],
)
def test_a_run_whose_agent_always_fails_stops_early_with_the_reason(here, capsys, agent, reason):
    argv = colbench(agent, "--limit", "60", "--concurrency", "2")[3:]
    assert main(argv) == 1
    printed, said = capsys.readouterr()
    assert f"failed in the agent's own code, for example: {reason}" in said
    assert "--retry-failed agent" in said
    assert not re.search("is below that of|again|repeat", printed + said.replace("run again", ""))
    assert 10 <= len(read_rollouts(Path("out/rollouts.jsonl"))) < 20


def test_a_run_whose_folder_is_deleted_stops_and_rescues_finished_dialogues(here, capsys):
    assert main(colbench("Deletes", "--limit", "6", "--in-process")[3:]) == 2
    assert "was deleted or replaced during the run; its lines were saved to" in (
        capsys.readouterr().err
    )
    (rescued, *_) = here.glob("out-*.rescued.jsonl")
    assert read_rollouts(rescued)
