"""The recorded results of a study, in a file that several processes update.

OUT/results.json          the results so far
OUT/results.json.old-N    replaced results, which have another format or contain parts of another study

A recorded part is used even if its stages are missing. So a study can continue from another machine's results.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import torch
from rich.text import Text

from colbench.console import errors
from colbench.errors import DataError
from colbench.run_folder import hold
from colbench.version import __version__
from sweet_rl_trainer.pipeline.stage import DONE, LOCK, Report
from sweet_rl_trainer.pipeline.stage import read as read_json
from sweet_rl_trainer.study.results import SCHEMA, Cost, Exchange, Part, Results, Row, Try

RESULTS = "results.json"
AND = " and "
"""Separator of several versions, or of several machines."""


class Record:
    """The record of a study with `seeds` seeds, in the folder `out`; `name` is the name of the world.

    `found` returns the finished parts of all arms: parts in the given results, and parts whose stages are finished.
    """

    def __init__(
        self,
        out: Path,
        *,
        name: str,
        world: dict[str, Any],
        seeds: int,
        found: Callable[[Results | None], Sequence[Part]],
    ) -> None:
        self._out, self._name, self._world, self._seeds = out, name, world, seeds
        self._found = found

    def update(self, base: str) -> Results:
        """Write the results of all finished parts, and return them. `base` is the digest of the base's weights.

        Recorded parts of all arms and seeds are kept if they belong to the study. A file that also contains other
        parts, or has another format (`results.SCHEMA`), is renamed first.
        """
        with hold(self._out / LOCK, self._out, wait=True):
            before = read_results(self._out / RESULTS)
            results = self._results(before, base)
            if (self._out / RESULTS).exists() and not (before and before.parts <= results.parts):
                self._put_aside()
            write(results, self._out)
        return results

    def base(self) -> str:
        """Return the digest of the base to which this study's recorded parts belong; "" if no part is recorded."""
        before = read_results(self._out / RESULTS)
        return before.base if before and before.parts & {*self._found(before)} else ""

    def _results(self, before: Results | None, base: str) -> Results:
        parts = self._found(before)
        if before and not before.parts & {*parts}:
            before = None
        versions, machines = (before.version, before.machine) if before else ("", "")
        if before is None or {*parts} - before.parts:
            versions, machines = _with(versions, __version__), _with(machines, machine())
        known = before.costs if before else ()
        return Results(
            name=self._name,
            world=self._world,
            base=base,
            version=versions,
            machine=machines,
            seeds=max(self._seeds, before.seeds if before else 0),
            rows=tuple(each for each in parts if isinstance(each, Row)),
            tries=tuple(each for each in parts if isinstance(each, Try)),
            exchanges=tuple(each for each in parts if isinstance(each, Exchange)),
            costs=tuple({each.key: each for each in (*known, *costs(self._out))}.values()),
        )

    def _put_aside(self) -> None:
        path = self._out / RESULTS
        names = (path.with_name(f"{RESULTS}.old-{number}") for number in count(1))
        old = next(each for each in names if not each.exists())
        path.rename(old)
        errors().print(
            Text(
                f"{path}: some parts do not belong to this study, or the file has the format of another version of "
                f"ColBench; the file is now {old.name}"
            )
        )


def _with(known: str, mine: str) -> str:
    """Return the text `known`, a list of versions or machines, with `mine` added."""
    return AND.join(dict.fromkeys([*filter(None, known.split(AND)), mine]))


def read_results(path: Path) -> Results | None:
    """Return recorded results; None if the file does not exist, or has another format.

    Raises DataError if the file is damaged.
    """
    if not path.is_file():
        return None
    content = path.read_bytes()
    try:
        if msgspec.json.decode(content, type=dict[str, Any]).get("schema") != SCHEMA:
            return None
        found: Results = msgspec.json.decode(content, type=Results)
    except msgspec.DecodeError as cause:
        raise DataError(
            f"{path}: {cause}; move the file away and repeat the command: finished stages are kept"
        ) from cause
    return found


def write(results: Results, out: Path) -> None:
    """Write the results atomically."""
    part = out / f"{RESULTS}.part"
    part.write_bytes(msgspec.json.encode(results))
    part.rename(out / RESULTS)


def costs(out: Path) -> tuple[Cost, ...]:
    """Return the time of each finished stage in a folder."""
    reports = [read_json(path, Report) for path in sorted(out.glob(f"*/{DONE}"))]
    return tuple(Cost(key=each.key, stage=each.stage, seconds=each.seconds) for each in reports)


def machine() -> str:
    """Return a description of this machine."""
    accelerator = torch.cuda.get_device_name() if torch.cuda.is_available() else "no accelerator"
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers"))
    cores = f"cores: {os.cpu_count()}, threads of a process: {torch.get_num_threads()}"
    where = f"{cores}, {platform.machine()}, {accelerator}"
    return f"{where}; Python {platform.python_version()}, {versions}"
