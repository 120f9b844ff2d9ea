"""What it costs to have a Python agent in a process of its own: milliseconds a turn, and seconds to start.

The same agent has the same dialogues in the process of the run, in a process of its own, and isolated there. CPU time
is that of both processes, as the slope between few and many dialogues, so that starting does not count; it is hardly
moved by what else the machine does. The wall time of a turn is the median of what the runner notes for each.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from colbench.agent_isolation import isolate
from colbench.agent_process.python import PythonAgent
from colbench.cells import plan
from colbench.config import RunConfig
from colbench.plugins import resolve
from colbench.rollout import Rollout
from colbench.runner import Runner
from colbench.score import Score
from colbench.task import Hidden, Task

SPEC = f"{Path(__file__).resolve()}:Echo"
TURNS = 10
FEW = 5


class Echo:
    """Says what it was told, and answers in its last turn."""

    async def reply(self, dialogue):
        return dialogue[-1].content + " " + "word " * 60

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        return None


class Human:
    """Says the same to everything."""

    async def respond(self, task, dialogue):
        return "That depends on the number of hours, as far as I know. " * 2


class Scorer:
    """Every answer is right."""

    async def score(self, task, answer):
        return {"default": Score(scorer="s", value=1.0, success=True)}


def here() -> Any:
    return resolve("agent", SPEC, {})


def apart() -> PythonAgent:
    return PythonAgent(SPEC, {}, patience=900.0)


def isolated() -> PythonAgent:
    agent = apart()
    if not isolate(agent, RunConfig(agent=SPEC, tasks="bundled:backend"), None):
        raise SystemExit("nothing can be isolated here")
    return agent


async def have(agent: Any, dialogues: int, concurrency: int) -> list[Rollout]:
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


def cpu() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def measure(make: Callable[[], Any], dialogues: int, concurrency: int) -> tuple[float, float]:
    """Milliseconds a turn: of CPU in all processes, and the median of the wall time."""
    spent = {}
    for count in (FEW, dialogues):
        agent = make()
        before = cpu()
        rollouts = asyncio.run(have(agent, count, concurrency))
        spent[count] = cpu() - before
    seconds = [turn.agent_seconds for each in rollouts for turn in each.turns]
    slope = (spent[dialogues] - spent[FEW]) / ((dialogues - FEW) * TURNS)
    return 1000 * slope, 1000 * statistics.median(seconds)


def started(make: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of CPU and of wall time until the agent is there, and has had one dialogue."""
    before, since = cpu(), time.perf_counter()
    asyncio.run(have(make(), 1, 1))
    return cpu() - before, time.perf_counter() - since


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dialogues", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    kinds = {"in-process": here, "own process": apart, "own process, isolated": isolated}
    for concurrency in (1, 32):
        print(f"\n{concurrency} dialogues at once, {TURNS} turns; medians of {args.repeats}")
        print("                         CPU ms a turn   wall ms a turn")
        found = {name: [] for name in kinds}
        for _ in range(args.repeats):
            for name, make in kinds.items():
                found[name].append(measure(make, args.dialogues, concurrency))
        for name, pairs in found.items():
            spent, wall = (statistics.median(each) for each in zip(*pairs, strict=True))
            print(f"{name:<25}{spent:>12.3f}{wall:>17.3f}")
    print("\nto start, with one dialogue    CPU s    wall s")
    for name, make in kinds.items():
        spent, wall = started(make)
        print(f"{name:<25}{spent:>12.2f}{wall:>10.2f}")


if __name__ == "__main__":
    main()
