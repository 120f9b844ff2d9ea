"""Merging of the shards of a run into the run that one machine would have made.

Each shard is read once to find its dialogues; then their lines are copied in the order of the plan, so that memory
contains only a key and a position for each dialogue.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from colbench.cells import Cell, plan
from colbench.descriptors import raise_limit
from colbench.errors import UserError
from colbench.numbers import count
from colbench.pins import flat_pins
from colbench.report.baseline import load_others
from colbench.report.model import RunReport
from colbench.report.write import write_report
from colbench.rollout import Rollout, placed_rollouts, without_times
from colbench.run_folder import (
    RunFolder,
    RunRecord,
    hold,
    join_versions,
    versions_of,
)
from colbench.selection import GIVEN, recorded_tasks

NAMED = 5
"""Maximum number of missing dialogues that `Merged.gaps` names."""


class Merged(Struct, frozen=True, kw_only=True):
    """A merged run: its folder, its report, and the missing or surplus dialogues of the shards."""

    path: Path
    report: RunReport
    dialogues: int
    planned: int
    gaps: tuple[str, ...]
    """Names of the first planned dialogues that no shard has, such as `trial 0 of parking-test-0001`."""
    left_out: int
    """Number of dialogues in the shards that the run does not plan, as after a change of `--limit`."""
    differences: tuple[str, ...]
    """Versions and sandboxes that differ between the shards, one line each; empty without `force`."""

    @property
    def missing(self) -> int:
        """Number of planned dialogues that no shard has."""
        return self.planned - self.dialogues


class _Place(NamedTuple):
    """The position of a dialogue: its shard, and its offset in the shard's file."""

    shard: int
    start: int
    settled: bool


def merge(runs: Sequence[str | Path], *, out: str | Path, force: bool = False) -> Merged:
    """Merge the shards of a run into a new folder, with its report.

    If several shards have the same dialogue and only its times differ, the dialogue is taken once. A finished dialogue
    takes precedence over a dialogue that must be repeated. A planned dialogue that is missing from all shards stays
    pending: `colbench eval --out` with the same settings runs it. The folder appears only when it is completely
    written.

    Args:
        runs: Folders of the shards, or of any runs of one configuration.
        out: A new folder, or an empty one.
        force: Accept shards whose versions or sandboxes differ.

    Raises:
        UserError: The shards are not of one run, a shard is given twice or is in use, two shards have
            different versions of a dialogue, `out` exists and is not an empty folder, `runs` is empty or not a list,
            or the run's tasks, baseline or ceiling cannot be read.
        DataError: A shard has no `run.json` or a malformed file, or the tasks have changed since the run.
    """
    if isinstance(runs, str | Path) or not runs:
        raise UserError(f"runs: expected a list of run folders, got {runs!r}")
    target = _writable(Path(out))
    folders = [RunFolder(Path(run)) for run in runs]
    _require_different(folders)
    records = [folder.record() for folder in folders]
    differences = require_alike(folders, records, force=force)
    raise_limit()
    with ExitStack() as stack:
        for folder in folders:
            stack.enter_context(_reading(folder))
        draft = stack.enter_context(_written_whole(target))
        record = _together(records)
        tasks = recorded_tasks(folders[0], records[0])
        config = record.config
        cells = plan(tasks, config.trials, record.digest, config.seed, config.told)
        places = _index(folders)
        found = len(places)
        gaps = _copy(folders, cells, places, draft.rollouts_path)
        draft.save(record)
        if config.tasks == GIVEN:
            shutil.copyfile(folders[0].tasks_path, draft.tasks_path)
        report = write_report(draft, tasks, config, load_others(config, tasks))
    planned = len(tasks) * config.trials
    return Merged(
        path=Path(out),
        report=report,
        dialogues=found - len(places),
        planned=planned,
        gaps=tuple(gaps),
        left_out=len(places),
        differences=tuple(differences),
    )


def _require_different(folders: Sequence[RunFolder]) -> None:
    paths = [folder.path.resolve() for folder in folders]
    for place, path in enumerate(paths):
        if path in paths[:place]:
            raise UserError(f"{folders[place].path}: given twice; pass each shard only once")


def require_alike(
    folders: Sequence[RunFolder], records: Sequence[RunRecord], *, force: bool
) -> list[str]:
    """Return the versions and sandboxes that differ between shards, one line each.

    Raises UserError, which names the differences, if configurations or tasks differ, or if versions or sandboxes differ
    and `force` is not set.
    """
    if found := _differing(folders, [_configuration(record) for record in records]):
        lines = "\n".join(f"  {each}" for each in found)
        raise UserError(f"these are not shards of one run; they differ in:\n{lines}")
    found = _differing(folders, [_versions(record) for record in records])
    if found and not force:
        lines = "\n".join(f"  {each}" for each in found)
        raise UserError(
            f"the shards were run with different versions or sandboxes; --force merges them "
            f"anyway. They differ in:\n{lines}"
        )
    return found


def _configuration(record: RunRecord) -> dict[str, str]:
    tasks = f"{count(record.tasks.count, 'task')}, hash {record.tasks.hash[:12]}"
    return {**flat_pins(record.pins), "tasks": tasks, "trials": str(record.config.trials)}


def _versions(record: RunRecord) -> dict[str, str]:
    known = versions_of(record)
    return {name: value for name, value in known.items() if value and name != "platform"}


def _differing(folders: Sequence[RunFolder], pins: Sequence[Mapping[str, str]]) -> list[str]:
    """Return a line for each pin that differs between shards, with two of its values. Ignore shards without the pin."""
    found = []
    for name in sorted({name for each in pins for name in each}):
        known = [
            (folder, each[name]) for folder, each in zip(folders, pins, strict=True) if name in each
        ]
        first, value = known[0]
        other = next((each for each in known if each[1] != value), None)
        if other:
            found.append(f"{name}: {value} ({first.path}) and {other[1]} ({other[0].path})")
    return found


def _together(records: Sequence[RunRecord]) -> RunRecord:
    """Return the record of the whole run."""
    first = records[0]
    roles = {role for record in records for role in record.learned}
    learned = {
        role: list(
            dict.fromkeys(each for record in records for each in record.learned.get(role, ()))
        )
        for role in sorted(roles)
    }
    return replace(
        join_versions(records),
        config=replace(first.config, shard=None),
        started=min(record.started for record in records),
        learned=learned,
    )


@contextmanager
def _reading(folder: RunFolder) -> Iterator[None]:
    """Lock a run against writes by other processes while it is read. Do nothing if the run's folder is read-only."""
    if not os.access(folder.path, os.W_OK):
        yield
        return
    with folder.lock():
        yield


def _writable(out: Path) -> Path:
    """Return the absolute path of a new folder, with symlinks resolved.

    Raises UserError if `out` is the current folder, or exists and is not an empty folder.
    """
    target = out.resolve()
    if target == Path.cwd():
        raise UserError(f"--out {out}: this is the current folder; choose a new folder")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UserError(f"--out {out}: already exists; choose a new folder")
    return target


@contextmanager
def _written_whole(target: Path) -> Iterator[RunFolder]:
    """Yield a new folder next to `target`; on success, rename the folder to `target`.

    Files left by a killed process are deleted first.
    """
    draft = target.with_name(f".{target.name}.merging")
    with hold(draft / ".lock", target):
        for each in draft.iterdir():
            if each.is_dir():
                shutil.rmtree(each)
            elif each.name != ".lock":
                each.unlink()
        try:
            yield RunFolder(draft)
            draft.rename(target)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise


def _index(folders: Sequence[RunFolder]) -> dict[str, _Place]:
    """Return the positions of dialogues by key. Raises UserError if two shards have different dialogues for a key."""
    found: dict[str, _Place] = {}
    for shard, folder in enumerate(folders):
        own: dict[str, _Place] = {}
        if folder.rollouts_path.exists():
            for placed in placed_rollouts(folder.rollouts_path):
                own[placed.rollout.key] = _Place(shard, placed.start, placed.rollout.settled)
        for key in found.keys() & own.keys():
            own[key] = _one_of(folders, found[key], own[key])
        found |= own
    return found


def _one_of(folders: Sequence[RunFolder], one: _Place, other: _Place) -> _Place:
    if not (one.settled and other.settled):
        return one if one.settled else other
    first, second = (_rollout(folders[each.shard], each) for each in (one, other))
    if without_times(first) != without_times(second):
        raise UserError(
            f"trial {first.trial} of {first.task_id} is in both {folders[one.shard].path} and "
            f"{folders[other.shard].path}, and the two dialogues differ; leave one of the "
            "folders out"
        )
    return one


def _rollout(folder: RunFolder, place: _Place) -> Rollout:
    return next(placed_rollouts(folder.rollouts_path, start=place.start)).rollout


def _copy(
    folders: Sequence[RunFolder], cells: Iterator[Cell], places: dict[str, _Place], path: Path
) -> list[str]:
    """Copy the dialogues of cells (pairs of task and trial) to the file `path`, and remove these cells from `places`.

    Return the names of the first `NAMED` cells that have no dialogue.
    """
    gaps: list[str] = []
    with ExitStack() as stack, path.open("wb") as merged:
        files: dict[int, BinaryIO] = {}
        for cell in cells:
            place = places.pop(cell.key, None)
            if place is None:
                if len(gaps) < NAMED:
                    gaps.append(f"trial {cell.trial} of {cell.task.id}")
                continue
            if place.shard not in files:
                file = folders[place.shard].rollouts_path.open("rb")
                files[place.shard] = stack.enter_context(file)
            files[place.shard].seek(place.start)
            merged.write(files[place.shard].readline())
        merged.flush()
        os.fsync(merged.fileno())
    return gaps
