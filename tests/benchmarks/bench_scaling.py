"""Memory and time of the commands on a run with many dialogues.

    python tests/benchmarks/bench_scaling.py [report resume merge …] [--dialogues 1000000] [--folder F] [--run RUN]

The dialogues come from a real run with one trial of each task. That is the run of `--run`, or else a run of the
interviewer on 100 bundled backend tasks. Its dialogues are written repeatedly as additional trials, with their own keys
and seeds, until there are enough (7 GB for a million). Before the run is resumed, its last 10 dialogues are removed, so
that there is work to do. With `--folder`, all files are kept in F.

`compare` and `page` need `--other`, another run on the same tasks. Each command is its own process. Its CPU time is
measured together with that of its children. Its peak memory is the largest resident size of one process: the command's
own or a child. The baseline is the CPU time in which Python's own json module reads the file once.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from bench import add_parts, benchmark, main
from msgspec.structs import replace
from records import Quantity, Ratio, Round
from usage import in_fresh_process, now

import colbench
from colbench.config import RunConfig
from colbench.flags import command_flags
from colbench.rollout import Rollout, cell_key, cell_seed, encode_rollout, iter_rollouts
from colbench.run_folder import RunFolder, RunRecord

LEFT = 10
"""Number of dialogues that are left for the resumed run."""
LONGEST = 2**24
"""Upper bound of the total size of the lines of these dialogues, in bytes."""
SHARDS = 4
USUAL = ("report", "resume", "merge", "score")
COMMANDS = (*USUAL, "list", "failed", "task", "export", "compare", "page", "pack", "verify")
SUBMISSION = """
name = "Measured"
organization = "ColBench"
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


def make(source: RunFolder, target: RunFolder, dialogues: int) -> None:
    """Write a run that repeats the source's dialogues as trials, as often as `dialogues` allows."""
    record = source.record()
    trials = dialogues // record.tasks.count
    config = replace(record.config, trials=trials)
    target.path.mkdir(parents=True)
    target.save(replace(record, config=config))
    with target.rollouts_path.open("wb") as file:
        file.writelines(trial_lines(source, record, trials))


def trial_lines(source: RunFolder, record: RunRecord, trials: int) -> Iterator[bytes]:
    """Yield the lines of all trials; each trial has the dialogues of the source."""
    for trial in range(trials):
        for rollout in iter_rollouts(source.rollouts_path):
            yield encode_rollout(as_trial(rollout, trial, record))


def as_trial(rollout: Rollout, trial: int, record: RunRecord) -> Rollout:
    """Return a dialogue as part of another trial."""
    task_id, task_hash = rollout.task_id, rollout.task_hash
    return replace(
        rollout,
        trial=trial,
        key=cell_key(task_id, task_hash, trial, record.digest),
        seed=cell_seed(record.config.seed, task_id, task_hash, trial),
    )


def arguments(name: str, whole: RunFolder, folder: Path) -> list[str]:
    """Return the arguments of a `colbench` command, and make the files that it needs."""
    run, other, bundle = str(whole.path), str(folder / "other"), str(folder / "bundle")
    if name == "resume":
        shorten(whole.rollouts_path)
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


def shorten(file: Path) -> None:
    """Remove the last LEFT dialogues."""
    with file.open("rb+") as lines:
        size = lines.seek(0, os.SEEK_END)
        lines.seek(max(0, size - LONGEST))
        left = lines.read().splitlines(keepends=True)[-LEFT:]
        lines.truncate(size - sum(map(len, left)))


def divide(whole: RunFolder, shards: list[Path]) -> None:
    """Write the dialogues of a run into shards in turn; `colbench merge` accepts a dialogue in any shard."""
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


def measure(name: str, argv: list[str]) -> Round:
    """Run a command and return its time and its peak resident size. Raises ChildProcessError if it fails."""
    start = time.perf_counter()
    child = os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", "colbench.cli", *argv],
        os.environ,
        file_actions=discard_output(),
    )
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - start
    if status:
        raise ChildProcessError(f"exit code {os.waitstatus_to_exitcode(status)}: {argv}")
    return {
        f"{name}: wall": Quantity(wall, "s"),
        f"{name}: CPU": Quantity(usage.ru_utime + usage.ru_stime, "s"),
        f"{name}: peak memory": Quantity(usage.ru_maxrss / 1024, "MB"),
    }


def discard_output() -> list[tuple[int, int, str, int, int]]:
    """Return the file actions that discard standard output."""
    return [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]


def play(out: Path) -> None:
    """Make a run of 100 dialogues."""
    colbench.evaluate(agent="interviewer", tasks="bundled:backend", limit=100, out=out)


def read_json(file: Path) -> float:
    """Return the CPU time of reading a file, in seconds."""
    before = now()
    with file.open("rb") as lines:
        for line in lines:
            json.loads(line)
    return (now() - before).own


def options(parser: ArgumentParser) -> None:
    add_parts(parser, COMMANDS, USUAL)
    parser.add_argument("--dialogues", type=int, default=20_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--other", type=Path)


def missing(given: Namespace) -> str:
    alone = {"compare", "page"} & set(given.parts) and given.other is None
    return "compare and page need another run: pass --other RUN" if alone else ""


def run_of_many(source: Path, path: Path, dialogues: int) -> RunFolder:
    """Return the run of many trials in a folder; write it if it does not exist."""
    folder = RunFolder(path)
    if not path.exists():
        make(RunFolder(source), folder, dialogues)
    return folder


@benchmark(
    "scaling",
    ratios=[Ratio(f"{name} / json, CPU", f"{name}: CPU", "json: CPU") for name in COMMANDS],
    options=options,
    quick="report --dialogues 2000",
    needs=missing,
)
def scaling(given: Namespace) -> Iterator[Round]:
    """Make the runs once, then measure each command in each round."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        played = given.run or folder / "played"
        if not played.exists():
            in_fresh_process(play, played)
        whole = run_of_many(played, folder / "whole", given.dialogues)
        if given.other:
            run_of_many(given.other, folder / "other", given.dialogues)
        size = whole.rollouts_path.stat().st_size
        for _ in range(given.rounds):
            found = {
                "rollouts.jsonl: size": Quantity(size / 1e6, "MB"),
                "json: CPU": Quantity(read_json(whole.rollouts_path), "s"),
            }
            for name in given.parts:
                found |= measure(name, arguments(name, whole, folder))
            yield found


if __name__ == "__main__":
    main(scaling)
