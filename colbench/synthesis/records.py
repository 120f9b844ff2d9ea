"""Records of seed texts. A text that became a task is recorded in one file, a rejected text in another.

Each record includes its cost, and each rejection its reason. One process at a time appends to the files. An incomplete
last line, left by a killed process, is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from colbench.errors import UserError
from colbench.interfaces import Reason
from colbench.messages import Usage
from colbench.run_folder import LineWriter, hold
from colbench.task import Task, read_tasks, row_from_task

REASONS: dict[Reason, str] = {
    "refused": "the prompt is longer than the model's context",
    "malformed": "the reply is not the requested JSON, or is too long",
    "not_a_function": "the reference is not a single function with the given signature",
    "bad_calls": "not ten different calls with literal arguments",
    "gives_away": "the request reveals too much of the reference",
    "fails": "the reference fails on a call, or its value cannot be compared",
    "unstable": "a call returns another value the second time",
    "none": "a call returns None",
    "constant": "the calls return fewer than three different values",
    "unofficial": "the released scorer does not accept the reference",
    "near_duplicate": "nearly the same as another task",
    "guessed": "solved by a guess",
}
"""Descriptions of the reasons, for the table that `colbench tasks synthesize` prints."""
FIRST_BYTES = b'{"synthesis":{"key":"'
"""First bytes of every line. An incomplete last line that this command wrote is recognized by them."""


class Origin(Struct, frozen=True, kw_only=True):
    """The origin and the cost of a task or a rejection."""

    key: str
    """Hash of the seed text, the model and the prompt."""
    model: str
    prompt: str
    """SHA-256 of the prompt."""
    guess: str = ""
    """The agent that guesses and its number of tries, as text; empty without `--guess`."""
    usage: Usage | None = None
    """Tokens used for writing the task; None if the server did not report them."""
    guesses: tuple[Usage | None, ...] = ()
    """Tokens of each guess."""


class Outcome(Struct, frozen=True, kw_only=True):
    """The outcome of one seed text: a task, or the reason for its rejection."""

    synthesis: Origin
    reply: str = ""
    task: Task | None = None
    """The task, if the model's reply passed the vetting.

    The task is kept even if it was then rejected because it was guessed or is a near-duplicate.
    """
    reason: Reason | None = None
    """The reason for the rejection; None if the text became a task."""
    detail: str = ""
    """The exact cause of the rejection, such as the call that failed."""


class Line(Struct):
    """The parts of a recorded outcome that a resumed run needs."""

    synthesis: Origin
    reason: Reason | None = None


class Ledger:
    """The output of `colbench tasks synthesize`: the tasks in `out`, and the rejections next to it.

    The constructor and `writing` read existing files. They raise UserError if a file cannot be read or was not written
    by this command, or if its tasks were checked with another `--guess`. The constructor also raises UserError if `out`
    does not end in `.jsonl` or its folder does not exist.
    """

    def __init__(self, out: Path, guess: str = "") -> None:
        if out.suffix != ".jsonl":
            raise UserError(f"--out {out}: use a name that ends in .jsonl")
        if not out.parent.is_dir():
            raise UserError(f"--out {out}: the folder {out.parent} does not exist")
        self.out = out
        self.rejected = out.with_suffix(".rejected.jsonl")
        self._guess = guess
        self._writers: dict[Path, LineWriter] = {}
        self.lines = self._read()

    @property
    def done(self) -> set[str]:
        """The keys of the seed texts that have an outcome."""
        return {line.synthesis.key for line in self.lines}

    def tasks(self) -> list[Task]:
        """Return the tasks that have been recorded."""
        return read_tasks(self.out) if any(line.reason is None for line in self.lines) else []

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Open the files for writing by this process alone. Raises InUseError if another process writes to them."""
        with hold(self.out, self.out):
            self.lines = self._read()
            self._writers = {path: LineWriter(path) for path in (self.out, self.rejected)}
            try:
                yield
            finally:
                for writer in self._writers.values():
                    writer.close()

    def append(self, outcome: Outcome) -> None:
        """Write one outcome to its file. Raises UserError if the disk is full or the file was deleted."""
        row: dict[str, Any] = {"synthesis": outcome.synthesis}
        if outcome.reason is None and outcome.task is not None:
            row |= row_from_task(outcome.task)
        else:
            row |= {"reason": outcome.reason, "detail": outcome.detail, "reply": outcome.reply}
        path = self.rejected if outcome.reason else self.out
        self._writers[path].write(msgspec.json.encode(row) + b"\n")
        self.lines.append(Line(outcome.synthesis, outcome.reason))

    def _read(self) -> list[Line]:
        return [line for path in (self.out, self.rejected) for line in self._lines(path)]

    def _lines(self, path: Path) -> Iterator[Line]:
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as cause:
            raise UserError(f"--out {path}: cannot be read: {cause.strerror}") from cause
        *lines, torn = content.split(b"\n")
        if not (torn.startswith(FIRST_BYTES) or FIRST_BYTES.startswith(torn)):
            raise UserError(self._not_ours(path, len(lines) + 1))
        for number, text in enumerate(lines, start=1):
            try:
                line = msgspec.json.decode(text, type=Line)
            except (msgspec.DecodeError, UnicodeDecodeError) as cause:
                raise UserError(self._not_ours(path, number)) from cause
            if line.synthesis.guess != self._guess:
                before = line.synthesis.guess or "no --guess"
                raise UserError(
                    f"--out {self.out}: its tasks were checked with {before}, but this run has "
                    f"{self._guess or 'no --guess'}; use the same setting, or another --out"
                )
            yield line

    def _not_ours(self, path: Path, line: int) -> str:
        of = f" of {path}" if path != self.out else ""
        hint = "; to avoid near-duplicates of the tasks in this file, pass it with --against"
        return (
            f"--out {self.out}: line {line}{of} was not written by `colbench tasks synthesize`; "
            f"use another --out{'' if of else hint}"
        )
