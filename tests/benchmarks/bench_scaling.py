"""Memory and time of the commands over a run of a million dialogues.

    python tests/benchmarks/bench_scaling.py RUN FOLDER [--other RUN] [--dialogues 1000000] [--commands report,list,…]

RUN is a real run with one trial of each task. Its dialogues are written again as further trials, with keys and
seeds of their own, until there are enough (7 GB for a million); the last 10 are left out where the run is resumed, so
that there is something to do. `compare` needs another run on the same tasks. FOLDER keeps what is made. Each command is
a process of its own, of which the greatest resident size is measured, its children's not included.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from colbench.config import RunConfig
from colbench.flags import command_flags
from colbench.rollout import Rollout, cell_key, cell_seed, encode_rollout, iter_rollouts
from colbench.run_folder import RunFolder, RunRecord

LEFT = 10
"""Dialogues that are not written."""
SHARDS = 4
SUBMISSION = """
name = "Measured"
organisation = "ColBench"
authors = ["A benchmark"]
contact = "nobody@example.com"
track = "open"
models = []
description = "Dialogues that were written many times."

[disclosures]
trained_on_colbench = false
human_in_the_loop = false
tools = "none"
"""


def main() -> None:
    """Make the runs, run the commands on them and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--other", type=Path)
    parser.add_argument("--dialogues", type=int, default=1_000_000)
    parser.add_argument("--commands", default="report,resume,merge,score")
    given = parser.parse_args()
    whole = made(given.run, given.folder / "whole", given.dialogues)
    if given.other:
        made(given.other, given.folder / "other", given.dialogues)
    size = whole.rollouts_path.stat().st_size / 1e9
    print(f"{given.dialogues:,} dialogues, {size:.2f} GB", flush=True)
    for name in given.commands.split(","):
        measure(name, arguments(name, whole, given.folder))


def made(run: Path, path: Path, dialogues: int) -> RunFolder:
    """Return the run of many trials in a folder, which is written once."""
    folder = RunFolder(path)
    if not path.exists():
        make(RunFolder(run), folder, dialogues)
    return folder


def make(source: RunFolder, target: RunFolder, dialogues: int) -> None:
    """Write a run with as many trials of the source's tasks as it takes."""
    record = source.record()
    trials = dialogues // record.tasks.count
    config = replace(record.config, trials=trials)
    target.path.mkdir(parents=True)
    target.save(replace(record, config=config))
    with target.rollouts_path.open("wb") as file:
        file.writelines(trials_of(source, record, trials))


def trials_of(source: RunFolder, record: RunRecord, trials: int) -> Iterator[bytes]:
    """Yield the lines of all trials, each of which has the dialogues of the source."""
    for trial in range(trials):
        for rollout in iter_rollouts(source.rollouts_path):
            yield encode_rollout(moved(rollout, trial, record))


def moved(rollout: Rollout, trial: int, record: RunRecord) -> Rollout:
    """Return a dialogue as that of another trial."""
    task_id, task_hash = rollout.task_id, rollout.task_hash
    return replace(
        rollout,
        trial=trial,
        key=cell_key(task_id, task_hash, trial, record.digest),
        seed=cell_seed(record.config.seed, task_id, task_hash, trial),
    )


def arguments(name: str, whole: RunFolder, folder: Path) -> list[str]:
    """Return the command line of a command, after making what it needs."""
    run, other, bundle = str(whole.path), str(folder / "other"), str(folder / "bundle")
    if name == "resume":
        shorten(whole)
        return ["eval", *command_flags(whole.record().config), "--out", run]
    if name == "merge":
        shutil.rmtree(folder / "merged", ignore_errors=True)
        shards = [folder / "shards" / str(number) for number in range(1, SHARDS + 1)]
        if not shards[0].exists():
            divide(whole, shards)
        return ["merge", *map(str, shards), "--out", str(folder / "merged")]
    if name == "pack":
        shutil.rmtree(bundle, ignore_errors=True)
        (folder / "submission.toml").write_text(SUBMISSION)
        return ["submit", "pack", run, "--meta", str(folder / "submission.toml"), "--out", bundle]
    if name == "export":
        shutil.rmtree(folder / "pages", ignore_errors=True)
    first = next(iter_rollouts(whole.rollouts_path)).task_id
    return {
        "report": ["report", run],
        "score": ["score", run],
        "list": ["view", run, "--list"],
        "failed": ["view", run, "--failed", "guessed"],
        "task": ["view", run, "--task", first],
        "export": ["view", run, "--export", str(folder / "pages")],
        "compare": ["compare", run, other, "--json"],
        "page": ["compare", run, other, "--html", str(folder / "compare.html"), "--overwrite"],
        "verify": ["verify", bundle, "--tasks", whole.record().tasks.source],
    }[name]


def shorten(run: RunFolder) -> None:
    """Remove the last dialogues of a run."""
    places = [place for place, _ in islice(run.latest(), LEFT)]
    os.truncate(run.rollouts_path, places[-1])


def divide(whole: RunFolder, shards: list[Path]) -> None:
    """Write the dialogues of a run into shards, in turn; merging asks for no shard of its own."""
    record: RunRecord = whole.record()
    files = []
    for number, path in enumerate(shards, start=1):
        path.mkdir(parents=True)
        config: RunConfig = replace(record.config, shard=(number, len(shards)))
        RunFolder(path).save(replace(record, config=config))
        files.append((path / "rollouts.jsonl").open("wb"))
    with whole.rollouts_path.open("rb") as lines:
        for number, line in enumerate(lines):
            files[number % len(files)].write(line)
    for file in files:
        file.close()


def measure(name: str, argv: list[str]) -> None:
    """Run a command and print its time and its greatest resident size."""
    start = time.perf_counter()
    child = os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", "colbench.cli", *argv],
        os.environ,
        file_actions=quiet(),
    )
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - start
    print(
        f"{name:8} {wall:7.1f} s wall, {usage.ru_utime + usage.ru_stime:7.1f} s CPU, "
        f"{usage.ru_maxrss / 1024:7.0f} MB, exit code {os.waitstatus_to_exitcode(status)}",
        flush=True,
    )


def quiet() -> list[tuple[int, int, str, int, int]]:
    """Return what makes standard output go nowhere."""
    return [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]


if __name__ == "__main__":
    main()
