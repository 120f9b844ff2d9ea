"""What the code sandbox costs, beside an evaluator that isolates nothing and one with a process for every test.

    COLBENCH_OFFICIAL_DATA=FOLDER python tests/benchmarks/bench_sandbox.py [PART ...]

The folder holds `backend.jsonl` with real rows. The sides of a comparison take turns on small blocks of the same
candidates, several times over; turns during which the rest of the machine was busy are left out where others remain,
and of the rest the median counts. Wall time is that of the whole path from answer to verdict, references known; CPU
time is that of all processes together.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from unsandboxed import process_score, serial_score

from colbench.domains.backend.scorer import UnitTestScorer
from colbench.sandbox import SPARE_WORKERS, CodeSandbox
from colbench.task import Task, read_tasks

WORKERS = (os.cpu_count() or 1) + SPARE_WORKERS
IN_FLIGHT = 2 * WORKERS
"""Answers on their way, as in the runner."""
TICKS = os.sysconf("SC_CLK_TCK")


class Candidate(NamedTuple):
    """An answer to a task."""

    task: Task
    answer: str


class Cost(NamedTuple):
    """Seconds for one block of candidates."""

    wall: float
    cpu: float
    others: float
    """CPU time that the rest of the machine used meanwhile."""

    def __sub__(self, earlier: Cost) -> Cost:
        return Cost(*(a - b for a, b in zip(self, earlier, strict=True)))

    @property
    def quiet(self) -> bool:
        return self.others < 0.1 * self.wall * (os.cpu_count() or 1)


def now() -> Cost:
    """Clocks since some moment in the past."""
    own = cpu_seconds()
    busy = [int(ticks) for ticks in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return Cost(time.perf_counter(), own, (sum(busy) - busy[3] - busy[4]) / TICKS - own)


Side = Callable[[Sequence[Candidate]], Awaitable[Sequence[float]]]


def honest(task: Task) -> Candidate:
    """The reference as an answer."""
    return Candidate(task, task.hidden.reference)


def mixed(number: int, task: Task) -> Candidate:
    """Of 100: 50 honest, 30 wrong, 19 crashing, 1 looping."""
    body = {0: "while True: pass"}.get(number % 100, "return [][len(a)]")
    if number % 100 >= 20:
        body = "return (len(a), 'wrong')"
    if number % 100 >= 50:
        return honest(task)
    (name,) = re.findall(r"^def (\w+)", task.hidden.reference, re.MULTILINE)[-1:]
    return Candidate(task, f"def {name}(*a, **b):\n    {body}\n")


async def serial(candidates: Sequence[Candidate]) -> list[float]:
    """In this process, one after another."""
    return [serial_score(task, answer) for task, answer in candidates]


async def process_per_test(candidates: Sequence[Candidate]) -> list[float]:
    """As many tests at once as the sandbox has workers."""
    return [process_score(task, answer, WORKERS) for task, answer in candidates]


def sandboxed(scorer: UnitTestScorer) -> Side:
    """The scorer as the runner uses it; the official verdict's values, if it gives that one."""

    async def score(candidates: Sequence[Candidate]) -> list[float]:
        slots = asyncio.Semaphore(IN_FLIGHT)

        async def one(candidate: Candidate) -> float:
            async with slots:
                scores = await scorer.score(candidate.task, candidate.answer)
                return [*scores.values()][-1].value or 0.0

        return await asyncio.gather(*map(one, candidates))

    return score


def fenced(side: Side) -> Side:
    """Have the answers written as models write them."""

    async def score(candidates: Sequence[Candidate]) -> Sequence[float]:
        return await side(
            [Candidate(task, f"```python\n{answer}\n```") for task, answer in candidates]
        )

    return score


async def compare(
    sides: dict[str, Side], candidates: Sequence[Candidate], block: int
) -> dict[str, list[Cost]]:
    """The costs of each side, block by block, in turns; the order changes from block to block."""
    costs: dict[str, list[Cost]] = {name: [] for name in sides}
    for start in range(0, len(candidates), block):
        names = list(sides)
        names = names[start // block % len(names) :] + names[: start // block % len(names)]
        part = candidates[start : start + block]
        for name in names:
            before = now()
            await sides[name](part)
            costs[name].append(now() - before)
    return costs


def show(title: str, costs: dict[str, list[Cost]], block: int, different: int) -> None:
    """One line a side: medians of each of the `different` blocks, added up; rates in units of the first side's."""
    turns = list(zip(*costs.values(), strict=True))
    kept = [part for n in range(different) for part in [_quiet(turns[n::different])] if part]
    print(f"\n{title}: {WORKERS} workers, {sum(map(len, kept))} of {len(turns)} turns of {block}")
    walls = [
        sum(statistics.median(turn[side].wall for turn in part) for part in kept)
        for side in range(len(costs))
    ]
    for side, name in enumerate(costs):
        cpu = sum(statistics.median(turn[side].cpu for turn in part) for part in kept)
        each = 1000 / block / len(kept)
        ratio = f"rate x{walls[0] / walls[side]:.2f}"
        print(f"  {name:<30}{walls[side] * each:8.2f} ms wall  {cpu * each:6.2f} ms CPU   {ratio}")


def _quiet(turns: list[tuple[Cost, ...]]) -> list[tuple[Cost, ...]]:
    """The turns during which the rest of the machine did little, or all if there is none."""
    return [turn for turn in turns if all(cost.quiet for cost in turn)] or turns


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--rounds", type=int, default=4, help="times over all rows")
    args = parser.parse_args()
    folder = os.environ.get("COLBENCH_OFFICIAL_DATA")
    if folder is None:
        parser.error("COLBENCH_OFFICIAL_DATA names no folder with backend.jsonl")
    tasks = read_tasks(Path(folder) / "backend.jsonl")
    os.chdir(tempfile.mkdtemp())  # unisolated answers write files
    async with CodeSandbox(WORKERS) as box:
        print(box.environment)
        for part in args.parts:
            await PARTS[part](box, tasks, args.rounds)


async def honest_part(box: CodeSandbox, tasks: Sequence[Task], rounds: int) -> None:
    """References as answers: nothing but overhead."""
    both, one = UnitTestScorer(box), UnitTestScorer(box, modes=("official",))
    sides = {
        "serial, unisolated": serial,
        "sandbox, both verdicts": sandboxed(both),
        "sandbox, answers in a fence": fenced(sandboxed(both)),
        "sandbox, official verdict only": sandboxed(one),
    }
    answers = [honest(task) for task in tasks]
    started = time.perf_counter()
    await sandboxed(both)(answers)
    first = time.perf_counter() - started
    await sandboxed(one)(answers)
    costs = await compare(sides, answers * rounds, 100)
    show("honest", costs, 100, len(answers) // 100)
    alone = sum(cost.wall for cost in costs["sandbox, both verdicts"]) / rounds
    print(f"  references: {1000 * (first - alone) / len(tasks):.2f} ms wall a task, once")


async def mixed_part(box: CodeSandbox, tasks: Sequence[Task], rounds: int) -> None:
    """What a model in training writes."""
    both = UnitTestScorer(box)
    await sandboxed(both)([honest(task) for task in tasks])
    sides = {"serial, unisolated": serial, "sandbox, both verdicts": sandboxed(both)}
    answers = [mixed(number, task) for number, task in enumerate(tasks)]
    show("mixed", await compare(sides, answers, 100), 100, 4)


async def process_part(box: CodeSandbox, tasks: Sequence[Task], rounds: int) -> None:
    """A process for every test, on some rows."""
    both = UnitTestScorer(box)
    answers = [honest(task) for task in tasks[:40]]
    await sandboxed(both)(answers)
    sides = {"process per test, as many at once": process_per_test, "sandbox": sandboxed(both)}
    show("process per test", await compare(sides, answers * rounds, 40), 40, 1)


async def memory_part(box: CodeSandbox, tasks: Sequence[Task], rounds: int) -> None:
    """Memory of the servers, and what 10,000 candidates leave behind."""
    scorer = sandboxed(UnitTestScorer(box))
    await scorer([mixed(number + 1, task) for number, task in enumerate(tasks[:90])])
    answers = [mixed(1 + number % 99, tasks[number % len(tasks)]) for number in range(10_000)]
    print("\n10,000 candidates (without looping ones)")
    before = resources()
    for start in range(0, len(answers), 2500):
        await scorer(answers[start : start + 2500])
        print(f"  after {start + 2500:>6}: {resources()}, before: {before}")


class Resources(NamedTuple):
    """What this process and the sandbox hold."""

    harness_mb: float
    servers_mb: tuple[float, ...]
    """PSS of each worker, bubblewrap's processes included."""
    descriptors: int
    zombies: int

    def __str__(self) -> str:
        servers = " ".join(f"{size:.1f}" for size in self.servers_mb)
        return (
            f"harness {self.harness_mb:.1f} MB, workers {servers} MB, "
            f"{self.descriptors} descriptors, {self.zombies} zombies"
        )


def resources() -> Resources:
    """As of now."""
    own = os.getpid()
    trees = [[child, *descendants(child)] for child in children(own)]
    return Resources(
        memory(own, "Rss"),
        tuple(sum(memory(pid, "Pss") for pid in tree) for tree in trees),
        len(os.listdir("/proc/self/fd")),
        sum(stat(pid)[0] == "Z" for tree in trees for pid in tree),
    )


def memory(pid: int, kind: str) -> float:
    """MB of a process."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(size) for size in re.findall(rf"^{kind}: +(\d+) kB", text, re.MULTILINE)) / 1024


def cpu_seconds() -> float:
    """Of this process and all that descend from it, dead or alive."""
    own = os.getpid()
    ticks = sum(sum(map(int, stat(pid)[11:15])) for pid in descendants(own))
    return sum(os.times()[:4]) + ticks / TICKS


def descendants(pid: int) -> list[int]:
    """All living processes below one."""
    return [found for child in children(pid) for found in (child, *descendants(child))]


def children(pid: int) -> list[int]:
    """Living and dead children of a process with one thread."""
    return [
        int(child)
        for tasks in Path(f"/proc/{pid}/task").glob("*/children")
        for child in tasks.read_text().split()
    ]


def stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


PARTS = {
    "honest": honest_part,
    "mixed": mixed_part,
    "process": process_part,
    "memory": memory_part,
}


if __name__ == "__main__":
    asyncio.run(main())
