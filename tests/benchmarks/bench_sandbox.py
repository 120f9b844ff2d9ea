"""The cost of the code sandbox, compared with an evaluator without isolation and one with a process for every test.

    python tests/benchmarks/bench_sandbox.py [honest mixed process memory] [--rounds 10]

The candidates are answers to official tasks, from `backend.jsonl` in the folder COLBENCH_OFFICIAL_DATA, or with
`--bundled` to bundled tasks. The sides of a comparison take turns on small blocks of the same candidates. Wall time is
measured from the answer to the verdict; the sandbox has already computed the references. CPU time is the sum over all
processes.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import NamedTuple

from bench import add_parts, benchmark, main
from data import backend_tasks, no_backend_rows
from records import Quantity, Ratio, Round
from unsandboxed import process_score, serial_score
from usage import Spent, memory_mb, now, stat

from colbench.domains.backend.scorer import UnitTestScorer
from colbench.sandbox import CodeSandbox
from colbench.sandbox.browser.processes import family
from colbench.task import Task

WORKERS = os.cpu_count() or 1
IN_FLIGHT = 2 * WORKERS
"""Number of answers that are scored at once, as in the runner."""
BLOCK = 100
PROCESS_ROWS = 40
MEMORY_CANDIDATES = 2500
HONEST = "references as answers"
MIXED = "50% honest, 30% wrong, 19% crashing, 1% looping"
PROCESS = f"references as answers, {PROCESS_ROWS} tasks"


class Candidate(NamedTuple):
    """An answer to a task."""

    task: Task
    answer: str


Side = Callable[[Sequence[Candidate]], Awaitable[Sequence[float]]]


def honest(task: Task) -> Candidate:
    """Return the reference as an answer."""
    return Candidate(task, task.hidden.reference)


def mixed(number: int, task: Task) -> Candidate:
    """Return the answer with this number: of every 100 answers, 50 are honest, 30 are wrong, 19 crash and 1 loops."""
    body = {0: "while True: pass"}.get(number % 100, "return [][len(a)]")
    if number % 100 >= 20:
        body = "return (len(a), 'wrong')"
    if number % 100 >= 50:
        return honest(task)
    (name,) = re.findall(r"^def (\w+)", task.hidden.reference, re.MULTILINE)[-1:]
    return Candidate(task, f"def {name}(*a, **b):\n    {body}\n")


async def serial(candidates: Sequence[Candidate]) -> list[float]:
    """Score in this process, one answer after another."""
    return [serial_score(task, answer) for task, answer in candidates]


async def process_per_test(candidates: Sequence[Candidate]) -> list[float]:
    """Score with a process for every test; the sandbox's number of workers is the number of tests at once."""
    return [process_score(task, answer, WORKERS) for task, answer in candidates]


def sandboxed(scorer: UnitTestScorer) -> Side:
    """Return a side that uses the scorer like the runner; it gives the official value, if the scorer computes it."""

    async def score(candidates: Sequence[Candidate]) -> list[float]:
        slots = asyncio.Semaphore(IN_FLIGHT)

        async def one(candidate: Candidate) -> float:
            async with slots:
                scores = await scorer.score(candidate.task, candidate.answer)
                return [*scores.values()][-1].value or 0.0

        return await asyncio.gather(*map(one, candidates))

    return score


def fenced(side: Side) -> Side:
    """Return the same side with answers in a code fence, as models write them."""

    async def score(candidates: Sequence[Candidate]) -> Sequence[float]:
        return await side(
            [Candidate(task, f"```python\n{answer}\n```") for task, answer in candidates]
        )

    return score


async def compare(
    kind: str, sides: dict[str, Side], candidates: Sequence[Candidate], block: int, number: int
) -> Round:
    """Return each side's time per candidate; the sides take turns on blocks, in changing order."""
    spent = dict.fromkeys(sides, Spent(0.0, 0.0, 0.0))
    for start in range(0, len(candidates), block):
        names = list(sides)
        first = (number + start // block) % len(names)
        for name in names[first:] + names[:first]:
            before = now()
            await sides[name](candidates[start : start + block])
            spent[name] += now() - before
    each = 1000 / len(candidates)
    found: Round = {}
    for name, cost in spent.items():
        found[f"{kind}; {name}: wall"] = Quantity(cost.wall * each, "ms")
        found[f"{kind}; {name}: CPU"] = Quantity(cost.cpu * each, "ms")
    return found


Measure = Callable[[int], Awaitable[Round]]
"""A function that measures one round, given its number."""


async def honest_part(box: CodeSandbox, tasks: Sequence[Task]) -> Measure:
    """Prepare the measurement of references as answers, which shows only the overhead."""
    both, one = UnitTestScorer(box), UnitTestScorer(box, modes=("official",))
    sides = {
        "serial": serial,
        "sandbox": sandboxed(both),
        "sandbox, answers in a fence": fenced(sandboxed(both)),
        "sandbox, official verdict only": sandboxed(one),
    }
    answers = [honest(task) for task in tasks]
    await sandboxed(both)(answers)
    await sandboxed(one)(answers)
    return lambda number: compare(HONEST, sides, answers, BLOCK, number)


async def mixed_part(box: CodeSandbox, tasks: Sequence[Task]) -> Measure:
    """Prepare the measurement of answers like those of a model in training."""
    both = UnitTestScorer(box)
    await sandboxed(both)([honest(task) for task in tasks])
    sides = {"serial": serial, "sandbox": sandboxed(both)}
    answers = [mixed(number, task) for number, task in enumerate(tasks)]
    return lambda number: compare(MIXED, sides, answers, BLOCK, number)


async def process_part(box: CodeSandbox, tasks: Sequence[Task]) -> Measure:
    """Prepare the comparison with a process for every test, on some of the tasks."""
    both = UnitTestScorer(box)
    answers = [honest(task) for task in tasks[:PROCESS_ROWS]]
    await sandboxed(both)(answers)
    sides = {
        "a process for every test": process_per_test,
        "sandbox": sandboxed(both),
    }
    return lambda number: compare(PROCESS, sides, answers, PROCESS_ROWS, number)


async def memory_part(box: CodeSandbox, tasks: Sequence[Task]) -> Measure:
    """Prepare the measurement of memory that candidates leave behind in the servers; no candidate loops."""
    scorer = sandboxed(UnitTestScorer(box))
    await scorer([mixed(number + 1, task) for number, task in enumerate(tasks[:90])])
    answers = [mixed(1 + n % 99, tasks[n % len(tasks)]) for n in range(MEMORY_CANDIDATES)]
    before = {f"{name} at first": quantity for name, quantity in held_resources().items()}

    async def measure(_: int) -> Round:
        await scorer(answers)
        return before | held_resources()

    return measure


def held_resources() -> Round:
    """Return the memory and other resources that this process and the sandbox hold now."""
    own, *workers = family(os.getpid())
    return {
        "harness: memory": Quantity(memory_mb([own], "Rss"), "MB"),
        "a worker: memory": Quantity(memory_mb(workers) / WORKERS, "MB"),
        "harness: open files": Quantity(len(os.listdir("/proc/self/fd")), ""),
        "harness: zombies": Quantity(sum(stat(pid)[:1] == ["Z"] for pid in workers), ""),
    }


PARTS = {
    "honest": honest_part,
    "mixed": mixed_part,
    "process": process_part,
    "memory": memory_part,
}


def options(parser: ArgumentParser) -> None:
    add_parts(parser, PARTS)
    parser.add_argument(
        "--bundled", action="store_true", help="use bundled tasks, not official ones"
    )
    parser.add_argument("--tasks", type=int, default=400, metavar="N")


def times_as_fast(kind: str, quantity: str, side: str, baseline: str, **wanted: float) -> Ratio:
    """Declare a ratio: how many times as fast as the baseline a side is."""
    name = f"{baseline} / {side}, {quantity}: {kind}"
    over, under = (f"{kind}; {each}: {quantity}" for each in (baseline, side))
    return Ratio(name, over, under, better="higher", **wanted)


@benchmark(
    "sandbox",
    ratios=[
        times_as_fast(HONEST, "wall", "sandbox", "serial", wanted=1.0),
        times_as_fast(HONEST, "CPU", "sandbox", "serial"),
        times_as_fast(HONEST, "wall", "sandbox, official verdict only", "serial"),
        times_as_fast(MIXED, "wall", "sandbox", "serial"),
        times_as_fast(MIXED, "CPU", "sandbox", "serial"),
        times_as_fast(PROCESS, "wall", "sandbox", "a process for every test"),
        Ratio(
            "harness memory, at the end / at first", "harness: memory", "harness: memory at first"
        ),
        Ratio(
            "worker memory, at the end / at first", "a worker: memory", "a worker: memory at first"
        ),
    ],
    options=options,
    quick="honest process --bundled --tasks 100",
    needs=lambda given: "" if given.bundled else no_backend_rows(),
)
async def sandbox(given: Namespace) -> AsyncIterator[Round]:
    """Measure each part in each round; all parts share the workers."""
    tasks = backend_tasks(given.tasks, bundled=given.bundled)
    os.chdir(tempfile.mkdtemp())  # answers without isolation write files here
    async with CodeSandbox(WORKERS) as box:
        parts = [await PARTS[part](box, tasks) for part in given.parts]
        for number in range(given.rounds):
            found: Round = {}
            for part in parts:
                found |= await part(number)
            yield found


if __name__ == "__main__":
    main(sandbox)
