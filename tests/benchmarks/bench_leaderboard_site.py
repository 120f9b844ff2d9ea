"""Measure how long the site of a large leaderboard takes to build, and how large it is.

    python tests/benchmarks/bench_leaderboard_site.py [--entries 200] [--tasks 1000] [--trials 1] [--folder DIR]

The store is synthetic (`leaderboard_store`): real bundles and receipts of made-up dialogues of about 4 KB each. In
`--folder` it is kept, and found again. Wall-clock time is printed beside the CPU time of the process: on a machine
that has other work to do only the second says much.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from leaderboard_store import make_store, make_tasks

from colbench_leaderboard.board.standings import read_standings
from colbench_leaderboard.site.build import build

Value = TypeVar("Value")


def timed(name: str, do: Callable[[], Value]) -> Value:
    """Return its result; print how long it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    value = do()
    spent = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{name:24}{spent[0]:8.1f} s wall {spent[1]:8.1f} s CPU")
    return value


def sizes(name: str, files: Iterable[Path]) -> None:
    """Print how large files of a kind are."""
    found = [path.stat().st_size for path in files]
    print(
        f"{name:24}{len(found):8,} files, {max(found) / 1e3:9,.0f} kB the largest, {sum(found) / 1e6:9,.1f} MB"
    )


def main() -> None:
    """Make, build, measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=200)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--trials", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    folder = args.folder or Path(tempfile.mkdtemp(prefix="bench-leaderboard-"))
    store, out = folder / "store", folder / "site"
    try:
        tasks = make_tasks(args.tasks)
        if not store.exists():
            timed("store made", lambda: make_store(store, args.entries, tasks, args.trials))
        standings = timed("standings", lambda: read_standings(store))
        built = timed("site", lambda: build(store, standings, out, tasks))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(f"peak memory {peak:.1f} GB")
        print(f"{built.entries} entries, {built.dialogues:,} dialogues, {built.files:,} files")
        (board,) = (out / "boards").iterdir()
        sizes("board", [board / "index.html"])
        sizes("charts", [board / "charts.html"])
        sizes("tasks, listed", [board / "tasks.html"])
        sizes("a task", (board / "tasks").iterdir())
        sizes("one against the others", (board / "against").iterdir())
        sizes("an entry", out.glob("entries/*/index.html"))
        sizes("dialogues, listed", out.glob("entries/*/dialogues.html"))
        sizes("dialogues", out.glob("entries/*/dialogues-*.html"))
        sizes("bundles", out.glob("entries/*/*.tar.gz"))
    finally:
        if not args.folder:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
