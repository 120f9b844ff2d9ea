"""The viewer with many dialogues: the time to index them, to list them and to show one, and the process's memory.

    python tests/benchmarks/bench_viewer.py [--dialogues 20000]

The baseline is the CPU time in which Python's own json module reads the same file.
"""

from __future__ import annotations

import json
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from pathlib import Path

from bench import benchmark, main
from msgspec.structs import replace
from records import Quantity, Ratio, Round
from usage import Spent, in_fresh_process, now, peak_mb

import colbench
from colbench.rollout import encode_rollout, read_rollouts
from colbench.viewer.filters import Filters
from colbench.viewer.index import RunIndex
from colbench.viewer.listing import make_listing
from colbench.viewer.pages import Showing, dialogue_page, list_page
from colbench.viewer.server import ServerLinks


def multiply(folder: Path, dialogues: int) -> None:
    """Run 100 dialogues, and write them repeatedly with other keys."""
    colbench.evaluate(agent="interviewer", tasks="bundled:backend", limit=100, out=folder)
    file = folder / "rollouts.jsonl"
    played = read_rollouts(file)
    with file.open("wb") as lines:
        for number in range(dialogues):
            found = replace(played[number % len(played)], key=f"{number:064x}", trial=number)
            lines.write(encode_rollout(found))


def spent(work: Callable[[], object]) -> Spent:
    before = now()
    work()
    return now() - before


def view(folder: Path) -> Round:
    """Index a run, list its dialogues and show one, in a process that does nothing else."""
    filters, links = Filters(sort="-turns"), ServerLinks()
    before = now()
    index = RunIndex(folder, "run")
    indexed = now() - before
    row = index.rows[len(index.rows) // 2]

    before = now()
    listing = make_listing([index], filters)
    list_page(listing, filters, links)
    listed = now() - before

    def show() -> None:
        showing = Showing(neighbors=listing.neighbors(row), filters=filters)
        dialogue_page(index, row, links, showing)

    return {
        "viewer: index, wall": Quantity(indexed.wall, "s"),
        "viewer: index, CPU": Quantity(indexed.own, "s"),
        "viewer: list, sorted": Quantity(listed.own, "s"),
        "viewer: a dialogue": Quantity(spent(show).own, "s"),
        "viewer: peak memory": Quantity(peak_mb(), "MB"),
    }


def read_json(file: Path) -> None:
    with file.open("rb") as lines:
        for line in lines:
            json.loads(line)


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--dialogues", type=int, default=20_000)


@benchmark(
    "viewer",
    ratios=[Ratio("index / json, CPU", "viewer: index, CPU", "json: CPU")],
    options=options,
    quick="--dialogues 2000",
)
def viewer(given: Namespace) -> Iterator[Round]:
    """Make a run, then measure the viewer and the baseline in turn."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "run"
        in_fresh_process(multiply, folder, given.dialogues)
        file = folder / "rollouts.jsonl"
        for _ in range(given.rounds):
            found = in_fresh_process(view, folder)
            found["json: CPU"] = Quantity(spent(lambda: read_json(file)).own, "s")
            found["rollouts.jsonl: size"] = Quantity(file.stat().st_size / 1e6, "MB")
            yield found


if __name__ == "__main__":
    main(viewer)
