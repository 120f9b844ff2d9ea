"""The data: states and truths, generated in a folder or read from it.

FOLDER/states.jsonl    a line for each task (`states.TaskStates`)
FOLDER/truths.jsonl    a line for each task (`states.TaskTruths`)
FOLDER/data.json       the settings of both files (`Made`)

An interrupted generation continues with the next task. If the folder contains data of other tasks or settings, the
first line that differs and all lines after it are deleted. The same command produces the same bytes on every machine.
Some selections of tasks are frozen sets: the package contains the hashes of their files, and a file with another hash
raises DataError.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from importlib.resources import files
from itertools import takewhile
from pathlib import Path

import msgspec
from msgspec import Struct

from colbench.errors import DataError
from colbench.task import Task
from colbench.version import __version__
from sweet_rl_trainer.creditbench.collect import SOURCE, chosen_tasks, states_of
from sweet_rl_trainer.creditbench.lines import filled, read_lines, shorten
from sweet_rl_trainer.creditbench.states import (
    Bench,
    TaskStates,
    TaskTruths,
)
from sweet_rl_trainer.creditbench.truths import Truths
from sweet_rl_trainer.model.digest import file_digest

STATES, TRUTHS, MADE = "states.jsonl", "truths.jsonl", "data.json"


class Selection(Struct, frozen=True, kw_only=True):
    """The settings that determine which states are generated."""

    source: str = SOURCE
    """The source of the tasks."""
    tasks: int = 1000
    """Maximum number of tasks, taken from the usable tasks in the order of their hashes (`collect.chosen_tasks`)."""
    dialogues: int = 4
    """Number of demonstrators' dialogues about each task."""


class Made(Struct, frozen=True, kw_only=True):
    """The settings and the version on which the lines about a task depend, besides the task itself."""

    version: str = __version__
    """Version of ColBench."""
    dialogues: int


FULL = Selection()
QUICK = Selection(tasks=20, dialogues=2)


class Frozen(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A set of data whose hashes are fixed."""

    name: str
    selection: Selection
    states: int
    """The number of states."""
    states_sha256: str
    truths_sha256: str


def frozen_sets() -> tuple[Frozen, ...]:
    """Return the sets whose hashes are in the package."""
    text = files("sweet_rl_trainer.creditbench").joinpath("frozen.json").read_bytes()
    return msgspec.json.decode(text, type=tuple[Frozen, ...])


def generate(folder: Path, selection: Selection, processes: int) -> list[Bench]:
    """Return the tasks with their states and truths. Generate data that are missing, and delete data of other tasks.

    Raises DataError if a file is damaged, or if the selection is a frozen set but the hash of a file differs. Raises
    UserError if the source has no usable task.
    """
    tasks = chosen_tasks(selection.source, selection.tasks)
    _drop_others(folder, tasks, Made(dialogues=selection.dialogues))
    states = filled(
        folder / STATES, TaskStates, tasks, partial(make_states, selection.dialogues), processes
    )
    pairs = list(zip(tasks, states, strict=True))
    truths = filled(folder / TRUTHS, TaskTruths, pairs, make_truths, processes)
    _check(folder, selection)
    return [
        Bench(task=task, states=one.states, truths=other.states)
        for task, one, other in zip(tasks, states, truths, strict=True)
    ]


def _drop_others(folder: Path, tasks: Sequence[Task], made: Made) -> None:
    """Delete the data of the first task that differs, in ID or content, from its counterpart in `tasks`.

    The data of all later tasks are deleted, too. If the data were made with other settings than `made`, all data are
    deleted.
    """
    path, settings = folder / MADE, msgspec.json.encode(made)
    kept = _same(folder, tasks) if path.exists() and path.read_bytes() == settings else 0
    for name in (STATES, TRUTHS):
        shorten(folder / name, kept)
    path.write_bytes(settings)


def _same(folder: Path, tasks: Sequence[Task]) -> int:
    """Return how many tasks at the start of a folder's data equal the tasks at the start of `tasks`."""
    pairs = zip(read_lines(folder / STATES, TaskStates), tasks, strict=False)
    same = takewhile(
        lambda pair: (pair[0].task_id, pair[0].task_hash) == (pair[1].id, pair[1].hash), pairs
    )
    return len(list(same))


def make_states(dialogues: int, task: Task) -> TaskStates:
    """Return the states of a task."""
    return asyncio.run(states_of(task, dialogues))


def make_truths(pair: tuple[Task, TaskStates]) -> TaskTruths:
    """Return the exact values of a task's states and candidates."""
    task, states = pair
    truths = Truths(task)
    return TaskTruths(task_id=task.id, states=tuple(map(truths.of, states.states)))


def _check(folder: Path, selection: Selection) -> None:
    """Raise DataError if the selection is a frozen set but the hash of a file differs."""
    for frozen in frozen_sets():
        if frozen.selection != selection:
            continue
        for name, expected in ((STATES, frozen.states_sha256), (TRUTHS, frozen.truths_sha256)):
            if file_digest(folder / name) != expected:
                raise DataError(
                    f"{folder / name} is not the file of the frozen set {frozen.name!r}: its SHA-256 must "
                    f"be {expected}; delete the file to regenerate it. If the new file is also refused, the set's "
                    "tasks, or the code that makes the set's data, have changed since the hash was recorded"
                )


def frozen_name(selection: Selection) -> str:
    """Return the name of the frozen set with this selection; "" if no frozen set has this selection."""
    return next((each.name for each in frozen_sets() if each.selection == selection), "")


def hashes(folder: Path) -> tuple[str, str]:
    """Return two SHA-256 hashes: of the file of states, and of the file of truths."""
    return file_digest(folder / STATES), file_digest(folder / TRUTHS)
