"""What the harness costs: dialogues against a server with a fixed delay, in units of the ideal wall time.

    python tests/benchmarks/bench_orchestration.py

The server runs in a process of its own and shares the machine. The ideal is the time that the delays alone
take: dialogues x calls x delay / dialogues at once. Beside it, under random delays with the same mean, the
schedule of the paper's released code: 128 dialogues in lock-step, each turn waiting for the slowest.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import resource
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path

import aiohttp  # noqa: F401 - start-up is not what is measured
from serving import served

from colbench.cells import Cell, plan
from colbench.config import RunConfig
from colbench.dialogue import read_move
from colbench.interfaces import Episode
from colbench.messages import ANSWER_MARKER, Message
from colbench.plugins import resolve_tasks
from colbench.run_folder import RunFolder, TaskSource, make_record
from colbench.runner import Runner
from colbench.score import Score
from colbench.simulators.model import ModelHuman
from colbench.task import Task, distinguish
from colbench_agents.model import ModelAgent

Schedule = Callable[[str, list[Task], int], Coroutine[None, None, None]]
TURNS = 5
CALLS = 2 * TURNS - 1
"""Every turn but the last has a call for the agent and one for the human."""


class Unscored:
    """Scoring is measured elsewhere."""

    async def score(self, task: Task, answer: str) -> dict[str, Score]:
        return {"default": Score(scorer="none", value=1.0, success=True)}


def script(messages: list[Message]) -> str:
    """Four questions, then an answer; as the human, one sentence."""
    if messages[0].role != "system":
        return "Yes, a sale on the last day still counts."
    asked = sum(message.role == "assistant" for message in messages)
    if asked == TURNS - 1:
        return f"{ANSWER_MARKER} def f(x):\n    return x\n"
    return "What should happen to a sale that is made on the last day of the month?"


class LogNormal:
    """Delays with the given mean; half of them are shorter than 0.78 of it, one in a hundred longer than 4 times."""

    def __init__(self, mean: float) -> None:
        self.mean = mean
        self.rng = random.Random(1)

    def __call__(self) -> float:
        return self.mean * self.rng.lognormvariate(-0.25, math.sqrt(0.5))


async def pipelined(url: str, tasks: list[Task], concurrency: int) -> None:
    """The harness itself: runner, chat clients, rollout file."""
    model = f"scripted@{url}"
    async with (
        ModelAgent(model, client="aiohttp") as agent,
        ModelHuman(model, client="aiohttp") as human,
    ):
        source = TaskSource(source="bundled", count=len(tasks), hash="")
        record = make_record(RunConfig(), {"agent": {}, "human": {}}, source)
        with tempfile.TemporaryDirectory() as out:
            folder = RunFolder(Path(out))
            runner = Runner(
                agent=agent,
                human=human,
                scorers={"backend": Unscored()},
                max_turns=10,
                concurrency=concurrency,
                dialogue_timeout=600,
                scoring_slots=2,
            )
            with folder.writing(record) as writer:
                await runner.run(plan(tasks, 1, record.digest, 0), {}, writer.append)
            turns = [len(rollout.turns) for _, rollout in folder.latest()]
            if turns != [TURNS] * len(tasks):
                raise AssertionError("the run is not what was to be measured")


async def lock_step(url: str, tasks: list[Task], concurrency: int) -> None:
    """The released schedule: a batch of dialogues takes each turn together."""
    model = f"scripted@{url}"
    async with (
        ModelAgent(model, client="aiohttp") as agent,
        ModelHuman(model, client="aiohttp") as human,
    ):
        for start in range(0, len(tasks), concurrency):
            batch = list(plan(tasks[start : start + concurrency], 1, "", 0))
            dialogues = [[Message(role="user", content=cell.task.request)] for cell in batch]
            for turn in range(TURNS):
                await asyncio.gather(
                    *(_ask(agent, c, d) for c, d in zip(batch, dialogues, strict=True))
                )
                if turn < TURNS - 1:
                    await asyncio.gather(
                        *(_hear(human, c, d) for c, d in zip(batch, dialogues, strict=True))
                    )


async def _ask(agent: ModelAgent, cell: Cell, dialogue: list[Message]) -> None:
    async with agent.open(Episode(id=cell.key, seed=cell.seed, max_turns=10)) as own:
        move = read_move(await own.reply(dialogue))
    dialogue.append(Message(role="assistant", content=move.said))


async def _hear(human: ModelHuman, cell: Cell, dialogue: list[Message]) -> None:
    dialogue.append(await human.respond(cell.task, dialogue))


def measure(
    schedule: Schedule, tasks: list[Task], concurrency: int, delay: float | LogNormal
) -> tuple[float, float]:
    """Wall and CPU seconds of one schedule against a fresh server."""
    with served(script, delay) as url:
        wall, cpu = time.perf_counter(), time.process_time()
        asyncio.run(schedule(url, tasks, concurrency))
        return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dialogues", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=128)
    parser.add_argument("--delay", type=float, default=0.05, help="seconds a call")
    args = parser.parse_args()
    bundled = resolve_tasks("bundled:backend")
    tasks = distinguish(bundled[n % len(bundled)] for n in range(args.dialogues))
    ideal = args.dialogues * CALLS * args.delay / args.concurrency

    wall, cpu = measure(pipelined, tasks, args.concurrency, args.delay)
    print(
        f"{args.dialogues} dialogues of {TURNS} turns, {args.delay * 1000:.0f} ms a call, {args.concurrency} at once"
    )
    print(f"fixed delay    ideal {ideal:6.2f} s   harness {wall:6.2f} s   ratio {wall / ideal:.2f}")
    print(f"               harness CPU {1000 * cpu / (args.dialogues * CALLS):.2f} ms a call")
    wall, _ = measure(pipelined, tasks, args.concurrency, LogNormal(args.delay))
    slow, _ = measure(lock_step, tasks, args.concurrency, LogNormal(args.delay))
    print(
        f"random delays  harness {wall:6.2f} s   lock-step {slow:6.2f} s   ratio {slow / wall:.2f}"
    )
    print(f"peak memory    {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
