"""Fixtures for agents in their own process: short runs with the real runner, and a search for processes."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from colbench.cells import plan
from colbench.rollout import Rollout
from colbench.runner import Runner
from colbench.sandbox.agent import AgentSandbox, why_not
from colbench.score import Score
from colbench.task import Hidden, Task


class Human:
    """A simulated human that gives the same reply to every message."""

    async def respond(self, task, dialogue):
        return "No."


class Scorer:
    """A scorer for which every answer is right."""

    async def score(self, task, answer):
        return {"default": Score(scorer="s", value=1.0, success=True)}


@pytest.fixture
def play() -> Callable:
    """Return a function that plays a number of dialogues with an agent and returns their rollouts."""

    async def played(agent, *, dialogues=1, seconds=20.0, concurrency=4, request="def f(x)?"):
        done: list[Rollout] = []
        hidden = Hidden(reference="x = 1", tests=("f()",))
        tasks = [
            Task(id=f"t{n}", domain="backend", request=request, hidden=hidden)
            for n in range(dialogues)
        ]
        async with agent:
            runner = Runner(
                agent=agent,
                human=Human(),
                scorers={"backend": Scorer()},
                max_turns=10,
                concurrency=concurrency,
                dialogue_timeout=seconds,
                scoring_slots=1,
            )
            await runner.run(plan(tasks, 1, "d", 0), {}, done.append)
        return done

    return played


class Named:
    """A unique word for the command line of an agent, and a search for the processes that have this word."""

    def __init__(self) -> None:
        self.word = f"agent-{uuid4()}"

    def processes(self) -> list[int]:
        found = []
        for cmdline in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if self.word.encode() in cmdline.read_bytes().split(b"\0"):
                    found.append(int(cmdline.parent.name))
            except OSError:
                continue
        return found

    def left(self, seconds: float = 20.0) -> list[int]:
        """Return the processes that remain after waiting up to these seconds for them to end."""
        return self._until(lambda found: not found, seconds)

    def begun(self, count: int, seconds: float = 20.0) -> bool:
        """Return True once there are `count` processes; a process that is just starting is not visible for a moment."""
        return len(self._until(lambda found: len(found) >= count, seconds)) >= count

    def _until(self, enough: Callable[[list[int]], bool], seconds: float) -> list[int]:
        deadline = time.monotonic() + seconds
        while not enough(found := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return found


@pytest.fixture
def name() -> Named:
    return Named()


@pytest.fixture(scope="session")
def run() -> Callable:
    """Return a function that runs a command, in a sandbox or without one, and returns its output.

    The test is skipped if no sandbox works, but not in continuous integration.
    """
    if reason := why_not():
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)

    def ran(command: list[str], folder: Path, box: AgentSandbox | None = None) -> str:
        words = [*(box.prefix() if box else []), *command]
        done = subprocess.run(
            words, cwd=folder, capture_output=True, text=True, check=False, close_fds=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return ran
