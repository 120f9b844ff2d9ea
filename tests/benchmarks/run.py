"""Run benchmarks, record them and build docs/benchmarks.md: `make bench`, `make bench BENCH="sandbox viewer"`.

    python tests/benchmarks/run.py [NAME …] [--quick] [--page]

Each benchmark runs in its own process, first in full and then in its quick variant. Its results are recorded when it
ends, so that an interruption loses at most one benchmark. `--quick` runs only the quick variants and records nothing.
It starts no variant after `--seconds`, and its exit code is 1 only if a benchmark crashed. `--page` only builds the
page.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

import msgspec
from bench import REGISTERED, Benchmark
from page import write_page
from records import RECORDS, Book, Record, Variant, read_book, write_book
from tables import show_moves

from colbench.console import console

HERE = Path(__file__).parent


def load() -> dict[str, Benchmark]:
    """Import all benchmarks and return them by name, in alphabetical order."""
    for path in sorted(HERE.glob("bench_*.py")):
        import_module(path.stem)
    return dict(sorted(REGISTERED.items()))


def main() -> int:
    """Run the benchmarks that the command line names, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument(
        "--quick", action="store_true", help="run only the quick variants and record nothing"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=150,
        help="with --quick, start no variant after this time in seconds (default: 150)",
    )
    parser.add_argument("--page", action="store_true", help="only build the page")
    given = parser.parse_args()
    known = load()
    fitting = [name for name, each in known.items() if each.quick is not None or not given.quick]
    if unknown := set(given.names) - {*fitting}:
        kind = "benchmark with a quick variant" if given.quick else "benchmark"
        parser.error(f"not a {kind}: {', '.join(unknown)}; known: {', '.join(fitting)}")
    if not given.page:
        chosen = [known[name] for name in given.names or fitting]
        return run(chosen, time.monotonic() + given.seconds if given.quick else None)
    write_page()
    return 0


def run(chosen: Sequence[Benchmark], until: float | None) -> int:
    """Run benchmarks, print the ratios that moved, and return the exit code.

    With `until`, a time of the monotonic clock, run only the quick variants that can be started before it.
    """
    recorded, runs = read_book(), Runs(RECORDS)
    try:
        if until is None:
            runs.full(chosen)
        else:
            runs.quick(chosen, until)
    except KeyboardInterrupt:
        return 130
    finally:
        runs.show(recorded)
        if until is None:
            write_page()
    return 1 if runs.crashed else 0


class Runs:
    """The benchmarks that this command has run so far."""

    def __init__(self, records: Path) -> None:
        self.found = Book(full={}, quick={})
        self.crashed: list[str] = []
        self._records = records

    def full(self, chosen: Sequence[Benchmark]) -> None:
        """Run and record benchmarks and their quick variants."""
        for each in chosen:
            for variant in _variants(each):
                if record := self._run(each, variant):
                    book = read_book(self._records)
                    book.of(variant)[each.name] = record
                    write_book(book, self._records)

    def quick(self, chosen: Sequence[Benchmark], until: float) -> None:
        """Run the quick variants that can be started in time."""
        for each in chosen:
            if time.monotonic() > until:
                console().print(f"{each.name}: not run, the time is up")
            else:
                self._run(each, "quick")

    def _run(self, each: Benchmark, variant: Variant) -> Record | None:
        arguments = shlex.split(each.quick or "") if variant == "quick" else []
        if missing := each.needs(each.parse(arguments)):
            console().print(f"{each.name}: skipped, its recorded results are kept: {missing}")
            return None
        record = _in_child(each, variant)
        if record is None:
            console().print(f"{each.name}: [red]failed[/]")
            self.crashed.append(each.name)
        else:
            self.found.of(variant)[each.name] = record
        return record

    def show(self, recorded: Book) -> None:
        """Print the ratios that moved; of quick variants, print all ratios."""
        for variant in ("full", "quick"):
            if found := self.found.of(variant):
                console().rule(f"{variant}: {', '.join(found)}")
                show_moves(found, recorded.of(variant), all_ratios=variant == "quick")
        if self.crashed:
            console().print(f"[red]Failed:[/] {', '.join(self.crashed)}")


def _variants(each: Benchmark) -> Iterator[Variant]:
    yield "full"
    if each.quick is not None:
        yield "quick"


def _in_child(each: Benchmark, variant: Variant) -> Record | None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "record.json"
        command = [sys.executable, str(each.file), "--record", str(file)]
        run = subprocess.run([*command, *["--quick"] * (variant == "quick")], check=False)
        return msgspec.json.decode(file.read_bytes(), type=Record) if not run.returncode else None


if __name__ == "__main__":
    sys.exit(main())
