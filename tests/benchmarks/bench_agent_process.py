"""The cost of running a Python agent in its own process: milliseconds per turn, and seconds to start.

    python tests/benchmarks/bench_agent_process.py [--dialogues 100] [--at-once 1 32]

The same agent has the same dialogues in the process of the run, in its own process, and isolated in its own process.
CPU time is the sum over both processes. It is the slope between few and many dialogues, so that it excludes the start.
The wall time of a turn is the median of the times that the runner records.
"""

from __future__ import annotations

import asyncio
import statistics
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench import benchmark, main
from records import Quantity, Ratio, Round
from usage import now

from colbench.agent_isolation import isolate
from colbench.agent_process.python import PythonAgent
from colbench.cells import plan
from colbench.config import RunConfig
from colbench.plugins import resolve
from colbench.rollout import Rollout
from colbench.runner import Runner
from colbench.score import Score
from colbench.task import Hidden, Task

SPEC = f"{Path(__file__).resolve().with_name('echo_agent.py')}:Echo"
TURNS = 10
FEW = 5


class Human:
    """A simulated human that gives the same reply to every message."""

    async def respond(self, task, dialogue):
        return "That depends on the number of hours, as far as I know. " * 2


class Scorer:
    """A scorer for which every answer is right."""

    async def score(self, task, answer):
        return {"default": Score(scorer="s", value=1.0, success=True)}


def in_process_agent() -> Any:
    return resolve("agent", SPEC, {})


def own_process_agent() -> PythonAgent:
    return PythonAgent(SPEC, {}, patience=900.0)


def isolated_agent() -> PythonAgent:
    agent = own_process_agent()
    if not isolate(agent, RunConfig(agent=SPEC, tasks="bundled:backend"), None):
        raise SystemExit("agents cannot be isolated on this machine")
    return agent


async def run_dialogues(agent: Any, dialogues: int, concurrency: int) -> list[Rollout]:
    done: list[Rollout] = []
    hidden = Hidden(reference="x = 1", tests=("f()",))
    tasks = [
        Task(id=f"t{n}", domain="backend", request="def f(x)? " * 20, hidden=hidden)
        for n in range(dialogues)
    ]
    async with agent:
        runner = Runner(
            agent=agent,
            human=Human(),
            scorers={"backend": Scorer()},
            max_turns=TURNS,
            concurrency=concurrency,
            dialogue_timeout=1800.0,
            scoring_slots=1,
        )
        await runner.run(plan(tasks, 1, "d", 0), {}, done.append)
    return done


def measure(make: Callable[[], Any], dialogues: int, at_once: int) -> tuple[float, float]:
    """Return milliseconds per turn: the CPU time of all processes, and the median wall time."""
    spent = {}
    for count in (FEW, dialogues):
        agent = make()
        before = now()
        rollouts = asyncio.run(run_dialogues(agent, count, at_once))
        spent[count] = (now() - before).cpu
    seconds = [turn.agent_seconds for each in rollouts for turn in each.turns]
    slope = (spent[dialogues] - spent[FEW]) / ((dialogues - FEW) * TURNS)
    return 1000 * slope, 1000 * statistics.median(seconds)


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--dialogues", type=int, default=100)
    parser.add_argument("--at-once", type=int, nargs="*", default=[1, 32])


KINDS = {
    "in-process": in_process_agent,
    "own process": own_process_agent,
    "isolated": isolated_agent,
}


@benchmark(
    "agent-process",
    ratios=[
        Ratio(
            f"{kind} / in-process, {at_once} at once",
            f"{kind}: CPU per turn, {at_once} at once",
            f"in-process: CPU per turn, {at_once} at once",
        )
        for at_once in (1, 32)
        for kind in ("own process", "isolated")
    ],
    options=options,
)
def agent_process(given: Namespace) -> Iterator[Round]:
    """Run the same dialogues with each kind of agent in turn."""
    for _ in range(given.rounds):
        found: Round = {}
        for kind, make in KINDS.items():
            for at_once in given.at_once:
                cpu, wall = measure(make, given.dialogues, at_once)
                found[f"{kind}: CPU per turn, {at_once} at once"] = Quantity(cpu, "ms")
                found[f"{kind}: wall per turn, {at_once} at once"] = Quantity(wall, "ms")
            before = now()
            asyncio.run(run_dialogues(make(), 1, 1))
            found[f"{kind}: CPU to start"] = Quantity((now() - before).cpu, "s")
        yield found


if __name__ == "__main__":
    main(agent_process)
