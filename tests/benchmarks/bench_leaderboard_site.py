"""The site of a large leaderboard: the time to build it, and its size.

    python tests/benchmarks/bench_leaderboard_site.py [--entries 200] [--tasks 1000] [--trials 1] [--folder DIR]

The store is synthetic (`leaderboard_store`): real bundles and receipts with random dialogues of about 4 KB each. With
`--folder`, the store is kept, and the next run uses it again. The baseline is the CPU time in which Python's own json
module reads the dialogues once.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path

from bench import benchmark, main
from leaderboard_store import make_store, make_tasks
from records import Quantity, Ratio, Round
from usage import in_fresh_process, now, peak_mb

from colbench_leaderboard.board.standings import read_standings
from colbench_leaderboard.site.build import build


def make(store: Path, entries: int, tasks: int, trials: int) -> None:
    """Make a store."""
    make_store(store, entries, make_tasks(tasks), trials)


def build_site(store: Path, out: Path, tasks: int) -> Round:
    """Read the store and build the site, in a process that does nothing else."""
    made = make_tasks(tasks)
    before = now()
    standings = read_standings(store)
    read = now()
    built = build(store, standings, out, made)
    after = now()
    return {
        "standings: wall": Quantity((read - before).wall, "s"),
        "standings: CPU": Quantity((read - before).own, "s"),
        "site: wall": Quantity((after - read).wall, "s"),
        "site: CPU": Quantity((after - read).own, "s"),
        "site: dialogues": Quantity(built.dialogues, ""),
        "site: peak memory": Quantity(peak_mb(), "MB"),
    }


def read_json(store: Path) -> float:
    """Return the CPU time of reading all dialogues, in seconds."""
    before = now()
    for path in sorted(store.rglob("*.jsonl")):
        if path.parent.name == "trajectories":
            with path.open("rb") as lines:
                for line in lines:
                    json.loads(line)
    return (now() - before).own


def sizes(name: str, files: Iterable[Path]) -> Round:
    """Return the number, the largest size and the total size of files of one kind."""
    found = [path.stat().st_size for path in files]
    return {
        f"{name}: files": Quantity(len(found), ""),
        f"{name}: largest": Quantity(max(found) / 1e3, "kB"),
        f"{name}: together": Quantity(sum(found) / 1e6, "MB"),
    }


def all_sizes(out: Path) -> Round:
    (board,) = (out / "boards").iterdir()
    kinds = {
        "the board": [board / "index.html"],
        "charts": [board / "charts.html"],
        "tasks, listed": [board / "tasks.html"],
        "a task": (board / "tasks").iterdir(),
        "one against the others": (board / "against").iterdir(),
        "an entry": out.glob("entries/*/index.html"),
        "dialogues, listed": out.glob("entries/*/dialogues.html"),
        "dialogues, 25 to a page": out.glob("entries/*/dialogues-*.html"),
        "bundles": out.glob("entries/*/*.tar.gz"),
    }
    found: Round = {}
    for name, files in kinds.items():
        found |= sizes(name, files)
    return found


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--entries", type=int, default=200)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--trials", type=int, default=1)
    parser.add_argument("--folder", type=Path)


@benchmark(
    "leaderboard-site",
    ratios=[Ratio("site / json, CPU", "site: CPU", "json: CPU")],
    options=options,
    rounds=5,
)
def leaderboard_site(given: Namespace) -> Iterator[Round]:
    """Make the store once, then build its site in fresh processes."""
    with tempfile.TemporaryDirectory(prefix="bench-leaderboard-") as temporary:
        folder = given.folder or Path(temporary)
        store, out = folder / "store", folder / "site"
        if not store.exists():
            in_fresh_process(make, store, given.entries, given.tasks, given.trials)
        for _ in range(given.rounds):
            shutil.rmtree(out, ignore_errors=True)
            found = in_fresh_process(build_site, store, out, given.tasks)
            yield found | {"json: CPU": Quantity(read_json(store), "s")} | all_sizes(out)


if __name__ == "__main__":
    main(leaderboard_site)
