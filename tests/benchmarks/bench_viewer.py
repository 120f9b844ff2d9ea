"""The viewer over many dialogues: time to index and to answer, and the memory of the process.

python tests/benchmarks/bench_viewer.py [--dialogues 20000]
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

from msgspec.structs import replace

import colbench
from colbench.rollout import encode_rollout, read_rollouts
from colbench.viewer.filters import Filters
from colbench.viewer.index import RunIndex
from colbench.viewer.listing import make_listing
from colbench.viewer.pages import Showing, dialogue_page, list_page
from colbench.viewer.server import ServerLinks


def multiply(folder: Path, dialogues: int) -> None:
    """Play 100 dialogues, and repeat them under other keys."""
    colbench.evaluate(agent="interviewer", tasks="bundled:backend", limit=100, out=folder)
    file = folder / "rollouts.jsonl"
    played = read_rollouts(file)
    with file.open("wb") as lines:
        for number in range(dialogues):
            found = replace(played[number % len(played)], key=f"{number:064x}", trial=number)
            lines.write(encode_rollout(found))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dialogues", type=int, default=20_000)
    dialogues = parser.parse_args().dialogues
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "run"
        multiply(folder, dialogues)
        size = (folder / "rollouts.jsonl").stat().st_size / 1e6
        start = time.perf_counter()
        index = RunIndex(folder, "run")
        indexed = time.perf_counter()
        filters, links = Filters(sort="-turns"), ServerLinks()
        listing = make_listing([index], filters)
        list_page(listing, filters, links)
        listed = time.perf_counter()
        row = index.rows[dialogues // 2]
        showing = Showing(neighbors=listing.neighbors(row), filters=filters)
        dialogue_page(index, row, links, showing)
        shown = time.perf_counter()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{dialogues:,} dialogues, {size:.0f} MB: indexed in {indexed - start:.2f} s, ", end="")
    print(f"list in {listed - indexed:.2f} s, dialogue in {shown - listed:.2f} s, {memory:.0f} MB")


if __name__ == "__main__":
    main()
