"""Notes and labels that a person leaves on dialogues: `notes.jsonl` in the run's folder.

Each line is one version of the note on a dialogue; the last version counts. Lines are only appended, so nothing is lost
if the process is killed; `rollouts.jsonl` is never touched.
"""

from __future__ import annotations

import csv
import fcntl
from collections.abc import Container, Iterable, Mapping, Set
from io import StringIO
from pathlib import Path

import msgspec
from msgspec import Struct

from colbench.errors import DataError, UserError
from colbench.rollout import Rollout
from colbench.run_folder import LineWriter, now

NAME = "notes.jsonl"
SCHEMA = "colbench.note/1"
COLUMNS = ("task_id", "trial", "labels", "text", "time", "key")
FORMULAS = ("=", "+", "-", "@", "\t", "\r")
MOST_LABELS = 20
LONGEST_LABEL = 40
LONGEST_TEXT = 10_000


class Note(Struct, frozen=True, kw_only=True):
    """One version of a person's note on a dialogue; a version without labels and text deletes the note."""

    schema: str = SCHEMA
    key: str
    """The rollout's key."""
    task_id: str
    trial: int
    time: str
    """Time of the note, in UTC, ISO 8601."""
    labels: tuple[str, ...] = ()
    text: str = ""

    @property
    def empty(self) -> bool:
        """True if the note has neither labels nor text."""
        return not self.labels and not self.text


def make_note(rollout: Rollout, labels: str, text: str) -> Note:
    """Return a note from a person's input, with labels separated by commas.

    Raises UserError if there are too many labels, or a label or the text is too long.
    """
    found = tuple(
        dict.fromkeys(filter(None, (" ".join(each.split()) for each in labels.split(","))))
    )
    if len(found) > MOST_LABELS:
        raise UserError(f"{len(found)} labels: a dialogue can have at most {MOST_LABELS}")
    if long := next((each for each in found if len(each) > LONGEST_LABEL), None):
        raise UserError(
            f"the label {long[:LONGEST_LABEL]}…: a label can have at most {LONGEST_LABEL} characters"
        )
    text = text.replace("\r\n", "\n").strip()
    if len(text) > LONGEST_TEXT:
        raise UserError(f"{len(text):,} characters: a note can have at most {LONGEST_TEXT:,}")
    return Note(
        key=rollout.key,
        task_id=rollout.task_id,
        trial=rollout.trial,
        time=now(),
        labels=found,
        text=text,
    )


class Notes:
    """The notes of one run."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._found: Mapping[str, Note] = {}
        self._state: tuple[int, int] | None = None

    def get(self, key: str) -> Note | None:
        """Return the note on a dialogue; None for a dialogue without a note."""
        return self._found.get(key)

    def labels_of(self, keys: Container[str]) -> list[str]:
        """Return the labels of the dialogues with these keys: sorted, and each label only once."""
        found = (note.labels for key, note in self._found.items() if key in keys)
        return sorted({label for labels in found for label in labels})

    def any_of(self, keys: Container[str]) -> bool:
        """Return True if a dialogue with one of these keys has a note or a label."""
        return any(key in keys for key in self._found)

    def refresh(self) -> Set[str]:
        """Read the file if it changed, and return the keys of dialogues with changed notes.

        Raises DataError if a line is malformed; an incomplete last line is ignored.
        """
        try:
            status = self._path.stat()
        except FileNotFoundError:
            state = None
        else:
            state = (status.st_ino, status.st_size)
        if state == self._state:
            return frozenset()
        before, self._found = self._found, _read(self._path) if state else {}
        self._state = state
        keys = before.keys() | self._found.keys()
        return {key for key in keys if before.get(key) != self._found.get(key)}

    def add(self, note: Note) -> None:
        """Append a note. Raises UserError if the file cannot be written."""
        try:
            with self._path.open("ab") as locked:
                fcntl.flock(locked, fcntl.LOCK_EX)
                writer = LineWriter(self._path)
                try:
                    writer.write(msgspec.json.encode(note) + b"\n")
                finally:
                    writer.close()
        except OSError as cause:
            raise UserError(f"{self._path}: cannot be written: {cause.strerror}") from cause


def format_notes(notes: Iterable[tuple[str, Note]], form: str) -> str:
    """Return notes as `csv` with a header line, or as `jsonl`. Each of `notes` is a run's folder and a note of the run.

    Columns: `run`, `task_id`, `trial`, `labels`, `text`, `time`, `key`. Labels are a list in JSON, and are separated by
    commas in CSV. In CSV, an apostrophe is added before any text that a spreadsheet would treat as a formula.
    """
    rows = [{"run": run, **{name: getattr(note, name) for name in COLUMNS}} for run, note in notes]
    if form == "jsonl":
        return "".join(f"{msgspec.json.encode(row).decode()}\n" for row in rows)
    out = StringIO()
    table = csv.writer(out)
    table.writerow(["run", *COLUMNS])
    for row in rows:
        table.writerow(map(_cell, row.values()))
    return out.getvalue()


def _cell(value: object) -> str:
    text = ", ".join(value) if isinstance(value, tuple) else str(value)
    return f"'{text}" if text.startswith(FORMULAS) else text


def read_notes(folder: Path) -> list[Note]:
    """Return the notes of a run in the order of their last change.

    Raises DataError if the file cannot be read or is malformed.
    """
    path = folder / NAME
    return list(_read(path).values()) if path.exists() else []


def _read(path: Path) -> dict[str, Note]:
    """Return the notes of a file by the key of their dialogue; deleted notes are left out.

    Raises DataError if the file cannot be read or a line is malformed; an incomplete last line is ignored.
    """
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except OSError as cause:
        raise DataError(f"{path}: cannot be read: {cause.strerror}") from cause
    found: dict[str, Note] = {}
    for number, line in enumerate(lines, start=1):
        note = _read_note(path, number, line)
        found.pop(note.key, None)
        if not note.empty:
            found[note.key] = note
    return found


def _read_note(path: Path, number: int, line: bytes) -> Note:
    try:
        note = msgspec.json.decode(line, type=Note)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
        raise DataError(f"{path}, line {number}: not a note: {cause}; remove the line") from cause
    if note.schema != SCHEMA:
        raise DataError(f"{path}, line {number}: schema {note.schema}, expected {SCHEMA}")
    return note
