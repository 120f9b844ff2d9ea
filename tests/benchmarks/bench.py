"""The registry of benchmarks. A benchmark is a registered function that yields the measurements of one round at a time.

    @benchmark("sandbox", ratios=[Ratio("sandbox / serial", "sandbox: wall", "serial: wall")], quick="--rounds 5")
    def sandbox(given):
        for _ in range(given.rounds):
            yield {"sandbox: wall": Quantity(1.7, "ms"), "serial: wall": Quantity(2.0, "ms")}

    if __name__ == "__main__":
        main(sandbox)

A benchmark runs as its own script, or through `make bench`. Within a round, the compared sides take turns, so that
the two values of each ratio are measured shortly after one another. A round may contain only some of the quantities.
If `needs` says that something is missing on this machine, `make bench` skips the benchmark, and its script ends with an
error.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import os
import shlex
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from records import Goal, Ratio, Record, Round, read_book, summarize, this_machine
from tables import show_record
from usage import others_seconds

Rounds = Iterator[Round] | AsyncIterator[Round]


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A registered benchmark."""

    name: str
    measure: Callable[[Namespace], Rounds]
    ratios: Sequence[Ratio]
    goals: Sequence[Goal]
    options: Callable[[ArgumentParser], None]
    """A function that adds the benchmark's own options to the parser."""
    rounds: int
    """Number of rounds unless `--rounds` is given."""
    quick: str | None
    """The arguments of the quick variant, which takes about a minute or less; None if the benchmark has none."""
    needs: Callable[[Namespace], str]
    """A function that returns what is missing on this machine, or an empty string."""
    file: Path

    def parse(self, arguments: Sequence[str]) -> Namespace:
        """Parse command-line arguments."""
        return self._parser().parse_args(arguments)

    def _parser(self) -> ArgumentParser:
        parser = argparse.ArgumentParser(
            prog=self.file.name,
            description=sys.modules[self.measure.__module__].__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.add_argument("--rounds", type=int, default=self.rounds)
        quick = (
            f"run the quick variant, and ignore other arguments: {self.quick}"
            if self.quick
            else "not available for this benchmark"
        )
        parser.add_argument("--quick", action="store_true", help=quick)
        self.options(parser)
        return parser


REGISTERED: dict[str, Benchmark] = {}


def benchmark(
    name: str,
    *,
    ratios: Sequence[Ratio] = (),
    goals: Sequence[Goal] = (),
    options: Callable[[ArgumentParser], None] = lambda _: None,
    rounds: int = 5,
    quick: str | None = None,
    needs: Callable[[Namespace], str] = lambda _: "",
) -> Callable[[Callable[[Namespace], Rounds]], Benchmark]:
    """Return a decorator that registers a function as a benchmark."""

    def register(measure: Callable[[Namespace], Rounds]) -> Benchmark:
        REGISTERED[name] = Benchmark(
            name=name,
            measure=measure,
            ratios=ratios,
            goals=goals,
            options=options,
            rounds=rounds,
            quick=quick,
            needs=needs,
            file=Path(inspect.getfile(measure)),
        )
        return REGISTERED[name]

    return register


def add_parts(
    parser: ArgumentParser, parts: Collection[str], usual: Collection[str] | None = None
) -> None:
    """Add a positional argument that selects parts of a benchmark; the default is `usual`, or all parts without it."""

    def part(name: str) -> str:
        if name not in parts:
            raise argparse.ArgumentTypeError(f"{name!r}: expected one of {', '.join(parts)}")
        return name

    known = ", ".join(parts)
    parser.add_argument(
        "parts",
        nargs="*",
        default=[*(usual or parts)],
        type=part,
        help=f"parts to measure: {known}",
    )


def main(chosen: Benchmark) -> None:
    """Run a benchmark with the command-line arguments, print its results, and compare them with the records.

    With `--record FILE`, which `make bench` passes, write the results to the file instead.
    """
    own = ArgumentParser(add_help=False, allow_abbrev=False)
    own.add_argument("--record", type=Path)
    file, arguments = own.parse_known_args()
    given = chosen.parse(arguments)
    if given.quick:
        if chosen.quick is None:
            raise SystemExit(f"{chosen.name} has no quick variant")
        arguments = shlex.split(chosen.quick)
        given = chosen.parse(arguments)
    if missing := chosen.needs(given):
        raise SystemExit(f"{chosen.name} cannot run here: {missing}")
    record = execute(chosen, given, shlex.join(arguments))
    if file.record:
        file.record.write_bytes(msgspec.json.encode(record))
        return
    variant = "quick" if record.arguments and record.arguments == chosen.quick else "full"
    show_record(chosen.name, record, read_book().of(variant).get(chosen.name))


def execute(chosen: Benchmark, given: Namespace, arguments: str) -> Record:
    """Measure all rounds and return the record. Targets apply only to the full benchmark, which has no arguments."""
    started, before = time.perf_counter(), others_seconds()
    rounds = _collect(chosen.name, chosen.measure(given))
    seconds = time.perf_counter() - started
    others = sum(max(0.0, spent - before.get(pid, 0.0)) for pid, spent in others_seconds().items())
    ratios, figures = summarize(rounds, chosen.ratios, chosen.goals, targets=not arguments)
    return Record(
        arguments=arguments,
        machine=this_machine(),
        seconds=round(seconds, 1),
        others=round(others / seconds / (os.cpu_count() or 1), 2),
        ratios=ratios,
        figures=figures,
    )


def _collect(name: str, rounds: Rounds) -> list[Round]:
    found: list[Round] = []

    def add(each: Round) -> None:
        found.append(each)
        print(f"{name}: round {len(found)} done", file=sys.stderr, flush=True)

    async def add_all(rounds: AsyncIterator[Round]) -> None:
        async for each in rounds:
            add(each)

    if isinstance(rounds, AsyncIterator):
        asyncio.run(add_all(rounds))
    else:
        for each in rounds:
            add(each)
    return found
