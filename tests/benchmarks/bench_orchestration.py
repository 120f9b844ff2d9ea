"""The cost of the harness: dialogues with a delayed server, compared with the delays alone and with a bare client.

    python tests/benchmarks/bench_orchestration.py [fixed none one-core random] [--dialogues 1000]

`fixed`: The server takes 50 ms per call. The ideal is the time of the delays alone: dialogues x calls x delay /
dialogues at once. The bare client makes the same calls with only aiohttp and JSON.
`none`: The server answers at once.
`one-core`: The server answers at once, and the harness has one core.
`random`: The delays are random, with the same mean. The harness is compared with the schedule of the paper's released
code. That schedule takes 128 dialogues in lock-step, so that each turn waits for the slowest dialogue.

The server runs in its own process on the same machine. Each run of the harness has a fresh process, in which nothing
is prepared. CPU time and memory of the harness include the audit process.
"""

from __future__ import annotations

import asyncio
import math
import os
import random
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Coroutine, Iterator
from contextlib import nullcontext
from multiprocessing import active_children
from pathlib import Path
from typing import NamedTuple

import aiohttp
from bench import add_parts, benchmark, main
from records import Goal, Quantity, Ratio, Round
from serving import served
from usage import Spent, in_fresh_process, now, peak_with_child_mb, seconds_of

from colbench.audits import InProcess
from colbench.cells import Cell, plan
from colbench.config import RunConfig
from colbench.dialogue import read_move
from colbench.executors.audit_process import AuditProcess
from colbench.executors.choice import audits_apart
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
"""Every turn has a call for the agent, and every turn except the last has a call for the human."""
DELAYS = ("fixed", "none", "one-core", "random")


class Unscored:
    """A scorer that does nothing, because scoring is measured elsewhere."""

    async def score(self, task: Task, answer: str) -> dict[str, Score]:
        return {"default": Score(scorer="none", value=1.0, success=True)}


def script(messages: list[Message]) -> str:
    """Ask four questions, then answer; as the human, say one sentence."""
    if messages[0].role != "system":
        return "Yes, a sale on the last day still counts."
    asked = sum(message.role == "assistant" for message in messages)
    if asked == TURNS - 1:
        return f"{ANSWER_MARKER} def f(x):\n    return x\n"
    return "What should happen to a sale that is made on the last day of the month?"


class LogNormal:
    """Random delays: half are shorter than 0.78 of the given mean, one in a hundred is longer than 4 times the mean."""

    def __init__(self, mean: float) -> None:
        self.mean = mean
        self.rng = random.Random(1)

    def __call__(self) -> float:
        return self.mean * self.rng.lognormvariate(-0.25, math.sqrt(0.5))


async def pipelined(url: str, tasks: list[Task], concurrency: int) -> None:
    """Run the harness: runner, chat clients, rollout file, and the audits in the same process as in `colbench eval`."""
    model = f"scripted@{url}"
    async with (
        ModelAgent(model, client="aiohttp") as agent,
        ModelHuman(model, client="aiohttp") as human,
        AuditProcess() if audits_apart(len(tasks)) else nullcontext(InProcess()) as auditor,
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
                auditor=auditor,
            )
            with folder.writing(record) as writer:
                await runner.run(plan(tasks, 1, record.digest, 0), {}, writer.append)
            turns = [len(rollout.turns) for _, rollout in folder.latest()]
            if turns != [TURNS] * len(tasks):
                found = f"{len(turns)} dialogues with {sorted(set(turns))} turns"
                raise AssertionError(f"expected {len(tasks)} dialogues with {TURNS}, found {found}")


async def lock_step(url: str, tasks: list[Task], concurrency: int) -> None:
    """Run the released schedule: all dialogues of a batch finish a turn before the next turn begins."""
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


async def bare(url: str, tasks: list[Task], concurrency: int) -> None:
    """Make the same calls with a client that only sends and reads JSON."""
    waiting = iter(tasks)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(messages: list[dict[str, str]]) -> str:
            body = {"model": "scripted", "messages": messages}
            async with session.post(f"{url}/chat/completions", json=body) as response:
                found = await response.json()
                return str(found["choices"][0]["message"]["content"])

        async def talk() -> None:
            for task in waiting:
                dialogue = [{"role": "user", "content": task.request}]
                for call in range(CALLS):
                    role = ("assistant", "user")[call % 2]
                    system = [{"role": "system", "content": "You are an agent."}]
                    said = await ask(system * (role == "assistant") + dialogue)
                    dialogue.append({"role": role, "content": said})

        await asyncio.gather(*(talk() for _ in range(concurrency)))


class Cost(NamedTuple):
    """The cost of a schedule, without the server."""

    spent: Spent
    memory: float
    """Peak memory in MB."""


def run(
    schedule: Schedule,
    dialogues: int,
    concurrency: int,
    delay: float | LogNormal,
    cores: int | None = None,
) -> Cost:
    """Return the cost of one schedule with a fresh server, on all cores or only on the first `cores` of them."""
    bundled = resolve_tasks("bundled:backend")
    tasks = distinguish(bundled[n % len(bundled)] for n in range(dialogues))
    with served(script, delay) as url:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
        before = _spent()
        asyncio.run(schedule(url, tasks, concurrency))
        return Cost(_spent() - before, peak_with_child_mb())


def _spent() -> Spent:
    """Return the time that this process and its descendants have used, without the server."""
    server = [process.pid for process in active_children() if process.pid]
    found = now()
    return found._replace(cpu=found.cpu - seconds_of(server))


def options(parser: ArgumentParser) -> None:
    add_parts(parser, DELAYS)
    parser.add_argument("--dialogues", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=128)
    parser.add_argument("--delay", type=float, default=0.05, help="seconds per call")


@benchmark(
    "orchestration",
    ratios=[
        Ratio("harness / the ideal", "harness, fixed delay: wall", "ideal: wall", wanted=1.15),
        Ratio(
            "harness / the bare client, CPU",
            "harness, fixed delay: CPU per call",
            "bare client, fixed delay: CPU per call",
        ),
        Ratio(
            "lock-step / the harness",
            "lock-step, random delays: wall",
            "harness, random delays: wall",
            better="higher",
        ),
    ],
    goals=[
        Goal("harness, fixed delay: peak memory", wanted=150),
        Goal("harness, no delay, one core: agent turns per second", wanted=400, better="higher"),
    ],
    options=options,
    quick="fixed --dialogues 200",
)
def orchestration(given: Namespace) -> Iterator[Round]:
    """Measure each kind of delay in each round."""
    kinds = {
        "fixed": fixed_delay,
        "none": no_delay,
        "one-core": one_core,
        "random": random_delays,
    }
    for _ in range(given.rounds):
        found: Round = {}
        for delay in given.parts:
            found |= kinds[delay](given)
        yield found


def fixed_delay(given: Namespace) -> Round:
    count = given.dialogues
    ideal = count * CALLS * given.delay / given.concurrency
    harness, memory = in_fresh_process(run, pipelined, count, given.concurrency, given.delay)
    least = in_fresh_process(run, bare, count, given.concurrency, given.delay).spent
    return {
        "ideal: wall": Quantity(ideal, "s"),
        "harness, fixed delay: wall": Quantity(harness.wall, "s"),
        "harness, fixed delay: CPU per call": Quantity(1000 * harness.cpu / (count * CALLS), "ms"),
        "harness, fixed delay: CPU of its event loop's process": Quantity(
            1000 * harness.own / (count * CALLS), "ms"
        ),
        "harness, fixed delay: peak memory": Quantity(memory, "MB"),
        "bare client, fixed delay: wall": Quantity(least.wall, "s"),
        "bare client, fixed delay: CPU per call": Quantity(
            1000 * least.own / (count * CALLS), "ms"
        ),
    }


def no_delay(given: Namespace) -> Round:
    return {"harness, no delay: agent turns per second": _rate(given, None)}


def one_core(given: Namespace) -> Round:
    return {"harness, no delay, one core: agent turns per second": _rate(given, 1)}


def _rate(given: Namespace, cores: int | None) -> Quantity:
    cost = in_fresh_process(run, pipelined, given.dialogues, given.concurrency, 0.0, cores)
    return Quantity(given.dialogues * TURNS / cost.spent.wall, "")


def random_delays(given: Namespace) -> Round:
    sides = {"harness": pipelined, "lock-step": lock_step}
    found: Round = {}
    for name, schedule in sides.items():
        delay = LogNormal(given.delay)
        cost = in_fresh_process(run, schedule, given.dialogues, given.concurrency, delay)
        found[f"{name}, random delays: wall"] = Quantity(cost.spent.wall, "s")
    return found


if __name__ == "__main__":
    main(orchestration)
