"""The gain and cost of several processes: the same runs with one process and with several, in turn.

    python tests/benchmarks/bench_processes.py [dialogues scoring rendering] [--processes 2] [--rounds 5] [--ray]

With `--ray`, a third side uses the same number of nodes of a Ray cluster on this machine, with one process each. The
CPU time of the cluster itself is included in `all CPU`.

If other programs use the cores, wall time says little; compare CPU time instead. `busiest` is the CPU time of the
busiest process, which can be the run's own process or a worker. Even with free cores, a run cannot be faster than that.
Sandbox workers and browsers are included in `all CPU`. `starting` is measured separately. The model server of
`dialogues` answers at once and is not counted.
"""

from __future__ import annotations

import os
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench import add_parts, benchmark, main
from bench_orchestration import script
from msgspec import Struct
from records import Quantity, Ratio, Round
from serving import served
from usage import TICKS, in_fresh_process

import colbench
from colbench.evaluation import Observer

BUNDLED = 1000
"""Number of bundled tasks; more dialogues become additional trials."""


class Placement(Struct, frozen=True, kw_only=True):
    """The number of processes, or of nodes of a Ray cluster, that run the dialogues."""

    processes: int = 1
    nodes: int = 0


class Cost(Struct, frozen=True, kw_only=True):
    """The cost of a run, in seconds."""

    wall: float
    """Wall time from the start of the first dialogue to the end of the last."""
    everything: float
    """CPU time of all processes in that period."""
    busiest: float
    """CPU time in that period of the busiest process: the run's own or a worker."""
    starting: float
    """CPU time before the first dialogue."""


class Meter(Observer):
    """An observer that reads the CPU time of all processes when the dialogues of a run begin and when they end."""

    def __init__(self) -> None:
        self.first = usage()

    def on_resume(self, *_: object) -> None:
        self.begun, self.before = time.perf_counter(), usage()

    def on_end(self) -> None:
        self.seconds, self.after = time.perf_counter() - self.begun, usage()

    def cost(self) -> Cost:
        own, everything = _since(self.before, self.after)
        return Cost(
            wall=self.seconds,
            everything=everything,
            busiest=max(own.values()),
            starting=_since(self.first, self.before)[1],
        )


Usage = dict[int, tuple[bool, float, float]]
"""By process ID: True for the run's process and its workers, CPU seconds, and CPU seconds of ended children."""


def usage() -> Usage:
    """Return the CPU usage of this process and of all its descendants."""
    stats = dict(_stats())
    found = {os.getpid()}
    while more := {pid for pid, stat in stats.items() if stat[0] in found} - found:
        found |= more
    return {pid: _read(pid, stats[pid][1]) for pid in found}


def _stats() -> Iterator[tuple[int, tuple[int, list[str]]]]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        yield int(path.parent.name), (int(fields[1]), fields)


def _read(pid: int, fields: list[str]) -> tuple[bool, float, float]:
    own, ended = (sum(map(int, fields[first : first + 2])) / TICKS for first in (11, 13))
    return pid == os.getpid() or b"executors.worker" in _words(pid), own, ended


def _words(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _since(before: Usage, after: Usage) -> tuple[dict[int, float], float]:
    """Return the CPU seconds of each process that runs dialogues, and the sum over all processes."""
    own: dict[int, float] = {}
    everything = 0.0
    for pid, (holds, seconds, ended) in after.items():
        _, earlier, earlier_ended = before.get(pid, (holds, 0.0, 0.0))
        everything += seconds - earlier
        if pid != os.getpid():  # this process's children still run, or belong to an earlier run
            everything += ended - earlier_ended
        if holds:
            own[pid] = seconds - earlier
    return own, everything


def measure(settings: dict[str, Any]) -> Cost:
    """Run an evaluation and return its cost."""
    meter = Meter()
    done = colbench.evaluate(observer=meter, **settings)
    if any(rollout.failure for rollout in done.rollouts):
        raise AssertionError("a dialogue failed")
    return meter.cost()


def measure_on_nodes(count: int, settings: dict[str, Any]) -> Cost:
    """Run an evaluation on `count` nodes of a new Ray cluster, with one CPU each, and return its cost."""
    from ray.cluster_utils import Cluster

    node = {"object_store_memory": 80 * 2**20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **node})
    try:
        for _ in range(count):
            cluster.add_node(num_cpus=1, **node)
        limit = settings.get("concurrency", 64) // count
        there = {"executor": f"ray:{cluster.address}", "concurrency": limit}
        return measure(settings | there)
    finally:
        cluster.shutdown()


def run(placement: Placement, **settings: Any) -> Cost:
    """Run an evaluation in a fresh process, in which nothing is prepared, and return its cost."""
    if placement.nodes:
        return in_fresh_process(measure_on_nodes, placement.nodes, settings)
    return in_fresh_process(measure, settings | {"processes": placement.processes})


@contextmanager
def dialogues(count: int) -> Iterator[Callable[[Placement], Cost]]:
    """Yield a function that runs dialogues of five turns.

    A model server plays both sides. It replies at once, and gives the same final answer in all dialogues.
    """
    with served(script, 0.0) as url:
        model = f"openai:scripted@{url}"
        args = {"client": "aiohttp"}
        yield lambda placement: run(
            placement,
            agent=model,
            agent_args=args,
            human=model,
            human_args=args,
            limit=min(count, BUNDLED),
            trials=max(1, count // BUNDLED),
            concurrency=128,
        )


@contextmanager
def scoring(count: int) -> Iterator[Callable[[Placement], Cost]]:
    """Yield a function that runs the rule-based agent and human; the answers are right, and run in the sandbox."""
    yield lambda placement: run(placement, agent="interviewer", limit=count)


@contextmanager
def rendering(count: int) -> Iterator[Callable[[Placement], Cost]]:
    """Yield a function that runs the rule-based designer, whose pages are rendered and compared.

    Each run starts with an empty cache of renders.
    """

    def once(placement: Placement) -> Cost:
        with tempfile.TemporaryDirectory() as cache:
            os.environ["COLBENCH_CACHE"] = cache
            return run(placement, tasks="bundled:frontend", limit=count)

    yield once


LOADS = {"dialogues": (dialogues, 500), "scoring": (scoring, 300), "rendering": (rendering, 4)}
QUANTITIES = {"wall": "wall", "all CPU": "everything", "busiest": "busiest", "starting": "starting"}


def options(parser: ArgumentParser) -> None:
    add_parts(parser, LOADS)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--count", type=int, help="number of dialogues in a run")
    parser.add_argument("--ray", action="store_true", help="also run on nodes of a Ray cluster")


def missing(given: Namespace) -> str:
    """Return what this machine lacks, or an empty string."""
    return "Ray is not installed: pip install ray" * (given.ray and find_spec("ray") is None)


@benchmark(
    "processes",
    ratios=[
        Ratio(
            f"{load}, several processes / one, {quantity}",
            f"{load}, several processes: {quantity}",
            f"{load}, one process: {quantity}",
        )
        for load in LOADS
        for quantity in ("busiest", "all CPU", "wall")
    ],
    options=options,
    needs=missing,
)
def processes(given: Namespace) -> Iterator[Round]:
    """Run each load with one process and with several."""
    sides = {"one process": Placement(), "several processes": Placement(processes=given.processes)}
    if given.ray:
        sides["Ray nodes"] = Placement(nodes=given.processes)
    for _ in range(given.rounds):
        found: Round = {}
        for load in given.parts:
            make, usual = LOADS[load]
            with make(given.count or usual) as once:
                for side, placement in sides.items():
                    cost = once(placement)
                    for quantity, field in QUANTITIES.items():
                        value = Quantity(getattr(cost, field), "s")
                        found[f"{load}, {side}: {quantity}"] = value
        yield found


if __name__ == "__main__":
    main(processes)
