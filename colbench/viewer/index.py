"""An index of a run's dialogues: one small row for each dialogue, with its position in `rollouts.jsonl`.

The file is read once, dialogue by dialogue; each dialogue is read again when it is shown. `refresh` reads the dialogues
and notes that have been added.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from msgspec import Struct
from msgspec.structs import replace

from colbench.asking.derive import complete
from colbench.asking.failure_class import FAILURE_CLASSES, FailureClass, failure_class
from colbench.asking.untold import untold_decisions
from colbench.command import printable
from colbench.registry import get_domain
from colbench.rollout import Rollout, placed_rollouts
from colbench.run import Run, load_run
from colbench.shards import in_shard
from colbench.task import Task
from colbench.viewer.notes import Note, Notes
from colbench.viewer.open_file import OpenFile

T = TypeVar("T", bound=Hashable)
REQUEST = 160
"""Maximum number of characters of a request, or of a note, kept in a row."""

Unfailed = Literal["succeeded", "scored", "unscored"]
"""`scored`: the domain gives a score, but no success or failure. `unscored`: no score yet, or none possible."""
Outcome = FailureClass | Unfailed
OUTCOMES: tuple[Outcome, ...] = (*FAILURE_CLASSES, *get_args(Unfailed))


class Row(Struct, frozen=True, kw_only=True, gc=False):
    """The row of one dialogue in the list, and the dialogue's position in the file."""

    run: str
    """Name of the run in the viewer."""
    number: int
    """The row's index, from 0."""
    key: str
    """The rollout's key."""
    task_id: str
    trial: int
    domain: str
    family: str
    """The family; empty if the task has none."""
    request: str
    """The beginning of the request."""
    outcome: Outcome
    turns: int
    score: float | None
    """The value in the default mode (`lead_value`), such as 0.423 for 42.3%; None if the dialogue has no value."""
    untold: tuple[str, ...]
    """Hidden decisions that the human never revealed; empty if unknown."""
    labels: tuple[str, ...] = ()
    """Labels assigned by a person."""
    note: str = ""
    """The beginning of a person's note."""
    start: int
    """Byte offset of the dialogue in the file."""
    length: int
    """Length in bytes of the dialogue's line in the file, including the newline."""

    @property
    def failed(self) -> bool:
        """True if the dialogue failed."""
        return self.outcome in FAILURE_CLASSES


class RunIndex:
    """The rows of one run, one for each dialogue key, in the order in which the keys first appear in the file.

    If several dialogues have the same key, the last one counts.
    """

    def __init__(self, folder: str | Path, name: str) -> None:
        """Index a run's folder; `name` is the name of the run in the viewer.

        Raises DataError if the folder contains no run, or if a dialogue or a note is malformed.
        """
        run = load_run(folder)
        self.name = name
        self.folder = run.folder
        agent = printable(run.config.agent)
        self.title = name if agent in name else f"{name} ({agent})"
        self.config, self.environments = run.config, run.record.environments
        self.planned = _planned(run)
        self._tasks = {task.id: task for task in run.known_tasks()}
        self._places = {name: place for place, name in enumerate(self._tasks)}
        self._notes = Notes(run.path)
        self._rows: dict[str, Row] = {}
        self._known: dict[Hashable, Any] = {}
        self.version = 0
        """A counter that increases when rows change."""
        self._file: OpenFile | None = None
        self._end, self._lines = 0, 0
        self.refresh()

    @property
    def rows(self) -> Sequence[Row]:
        """The rows as of the last refresh."""
        return list(self._rows.values())

    @property
    def labels(self) -> Sequence[str]:
        """The labels that a person left, as of the last refresh."""
        return self._notes.labels_of(self._rows)

    @property
    def has_notes(self) -> bool:
        """True if a person left a note or a label on a dialogue, as of the last refresh."""
        return self._notes.any_of(self._rows)

    def planned_place(self, row: Row) -> tuple[bool, int, int]:
        """Return a key to sort rows in the order of the run's plan: by trial, then by task. Unknown tasks come last."""
        place = self._places.get(row.task_id)
        return (True, 0, row.number) if place is None else (False, row.trial, place)

    def row(self, key: str) -> Row | None:
        """Return the row with a key; None if no row has the key."""
        return self._rows.get(key)

    def rollout(self, row: Row) -> Rollout:
        """Read a dialogue from the file; add the measures of its questions if the run did not store them."""
        placed = next(placed_rollouts(self.folder.rollouts_path, start=row.start))
        return _complete(self.task(placed.rollout), placed.rollout)

    def note(self, row: Row) -> Note | None:
        """Return the note on a dialogue as of the last refresh; None for a dialogue without a note."""
        return self._notes.get(row.key)

    def add_note(self, note: Note) -> None:
        """Store a note with the run. Raises UserError if it cannot be written."""
        self._notes.add(note)

    def task(self, rollout: Rollout) -> Task | None:
        """Return the task of a dialogue; None if the task source lacks the task, or has since changed the task."""
        task = self._tasks.get(rollout.task_id)
        return task if task is not None and task.hash == rollout.task_hash else None

    def refresh(self) -> None:
        """Read new dialogues and notes; read all dialogues again if their file was replaced, as by `colbench score`.

        Raises DataError if a dialogue or a note is malformed.
        """
        changed = self._notes.refresh()
        self._refresh_rollouts()
        for key in changed:
            if key in self._rows:
                self._rows[key] = _with_note(self._rows[key], self._notes.get(key))
                self.version += 1

    def _refresh_rollouts(self) -> None:
        path = self.folder.rollouts_path
        if not path.exists():
            self._clear()
            return
        state = path.stat()
        if not (self._file and self._file.is_at(state)) or state.st_size < self._end:
            self._clear()
            self._file = OpenFile(path)
        if state.st_size == self._end:
            return
        for placed in placed_rollouts(path, start=self._end, line=self._lines + 1):
            row = self._summarize(placed.rollout, placed.start, placed.length)
            self._rows[row.key] = _with_note(row, self._notes.get(row.key))
            self.version += 1
            self._end, self._lines = placed.start + placed.length, placed.line

    def _clear(self) -> None:
        self._rows, self._known = {}, {}
        self.version += 1
        self._file = None
        self._end, self._lines = 0, 0

    def _summarize(self, rollout: Rollout, start: int, length: int) -> Row:
        task = self.task(rollout)
        rollout = _complete(task, rollout)
        before = self._rows.get(rollout.key)
        return Row(
            run=self.name,
            number=before.number if before else len(self._rows),
            key=rollout.key,
            task_id=self._same(rollout.task_id),
            trial=rollout.trial,
            domain=self._same(rollout.domain),
            family=task.family if task else "",
            request=self._same(rollout.request[:REQUEST]),
            outcome=outcome_of(rollout),
            turns=len(rollout.turns),
            score=self._same(lead_value(rollout)),
            untold=self._same(untold_decisions(task, rollout)),
            start=start,
            length=length,
        )

    def _same(self, value: T) -> T:
        """Return a stored object that equals `value`, so that many rows share one object and memory is saved."""
        known: T = self._known.setdefault(value, value)
        return known


def _planned(run: Run) -> int:
    """Return the number of planned dialogues; 0 for a shard whose tasks cannot be loaded."""
    config = run.config
    if config.shard is None:
        return run.record.tasks.count * config.trials
    return sum(
        in_shard(config.shard, task.id, task.hash, trial)
        for task in run.known_tasks()
        for trial in range(config.trials)
    )


def _with_note(row: Row, note: Note | None) -> Row:
    labels, text = (note.labels, note.text[:REQUEST]) if note else ((), "")
    changed = (labels, text) != (row.labels, row.note)
    return replace(row, labels=labels, note=text) if changed else row


def _complete(task: Task | None, rollout: Rollout) -> Rollout:
    """Return the rollout, with the measures of its questions added if an older run did not store them."""
    return complete([task], [rollout])[0] if task else rollout


def outcome_of(rollout: Rollout) -> Outcome:
    """Return a dialogue's outcome: the class of its failure or, if it did not fail, one of `Unfailed`."""
    score = rollout.scores.get("default")
    if found := failure_class(rollout):
        return found
    if score is None or lead_value(rollout) is None:
        return "unscored"
    return "succeeded" if score.success else "scored"


def lead_value(rollout: Rollout) -> float | None:
    """Return a dialogue's value in the default mode or, if it has none, the value of its domain's fallback metric.

    Return None if the dialogue has neither value.
    """
    score = rollout.scores.get("default")
    domain = get_domain(rollout.domain)
    if score is None or score.value is not None or domain.fallback is None:
        return score.value if score else None
    return domain.fallback.of(score)


def index_runs(folders: Sequence[str | Path]) -> list[RunIndex]:
    """Index runs under the names of their folders; a repeated name gets `-2`, `-3` and so on."""
    names: list[str] = []
    for folder in folders:
        name = printable(Path(folder).resolve().name) or "run"
        numbered = (f"{name}-{number}" for number in itertools.count(2))
        names.append(next(each for each in itertools.chain([name], numbered) if each not in names))
    return [RunIndex(folder, name) for folder, name in zip(folders, names, strict=True)]
