"""The rollout: one dialogue, its answer and its scores.

Rollout files are the main output of a run, and the trainer's only input. They are JSONL, written append-only by one
process. If several lines have the same `key`, the dialogue was run again, and the last line counts. An incomplete last
line, left by a killed process, is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from shlex import quote
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from colbench.config import derive_seed, digest
from colbench.errors import Boundary, BoundaryError, ColBenchError, DataError, Kind
from colbench.messages import Delivery, Sampled, Usage, clean, split_reply, split_thoughts
from colbench.score import Score

SCHEMA = "colbench.rollout/1"


class Leak(Struct, frozen=True, kw_only=True):
    """The part of the hidden reference that one reply of the human revealed beyond the question.

    Each field is a share in [0, 1] of one kind of item in the reference; see `colbench.leaks`.
    """

    identifiers: float
    literals: float
    ngrams: float


class Asking(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Measures of the questions of one dialogue; docs/metrics.md defines each number.

    A question is an agent's message to which the human replied. Several counts may include the same question, such as
    `redundant` and `late`, but a hit is neither redundant nor unanswerable.
    """

    questions: int = 0
    hits: int = 0
    """Number of questions whose reply revealed a hidden decision that was still open."""
    redundant: int = 0
    """Number of questions that asked only for decisions that the request or an earlier reply had revealed."""
    unanswerable: int = 0
    """Number of questions that asked for no decision of the task and whose reply revealed none."""
    late: int = 0
    """Number of questions asked after every hidden decision had been revealed."""
    hidden: int = 0
    """Number of decisions that the request does not state."""
    told: int = 0
    """Number of hidden decisions that were revealed before the answer."""
    needed_questions: int = 0
    """Minimum number of questions that reveal all hidden decisions if the human reveals two decisions per reply."""
    guessed: tuple[str, ...] = ()
    """Names of the hidden decisions that the answer gets right although they were never revealed."""
    ignored: tuple[str, ...] = ()
    """Names of the hidden decisions that were revealed and that the answer contradicts."""
    estimated: bool = False
    """True if the decisions were read from the reference because the task has no facts."""

    @property
    def open(self) -> int:
        """Number of hidden decisions that were never revealed."""
        return self.hidden - self.told

    @property
    def ask_precision(self) -> float | None:
        """Share of the questions whose reply revealed a hidden decision for the first time; None without questions."""
        return self.hits / self.questions if self.questions else None

    @property
    def ask_recall(self) -> float | None:
        """Share of the hidden decisions that were revealed before the answer; None if the task hides no decision."""
        return self.told / self.hidden if self.hidden else None

    @property
    def ask_f1(self) -> float | None:
        """Harmonic mean of precision and recall; 0 if there was no question or no hit, None if nothing is hidden."""
        precision, recall = self.ask_precision or 0.0, self.ask_recall
        if recall is None:
            return None
        return 2 * precision * recall / (precision + recall) if precision and recall else 0.0


class Followed(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Counts of the differences that the human pointed out, by their outcome on the agent's next page (frontend)."""

    fixed: int = 0
    kept: int = 0
    """Number of differences that were pointed out and are still present, though perhaps smaller."""
    worse: int = 0

    def __add__(self, other: Followed) -> Followed:
        return Followed(
            fixed=self.fixed + other.fixed,
            kept=self.kept + other.kept,
            worse=self.worse + other.worse,
        )

    @property
    def pointed_out(self) -> int:
        """Number of differences that the human pointed out."""
        return self.fixed + self.kept + self.worse


class Turn(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One reply of the agent and the human's reply to it."""

    raw: str
    """The agent's output, unmodified except that question marks replace lone surrogates."""
    said: str
    """The part of the agent's message that the human saw: without private text and without the answer."""
    human: str | None = None
    """The human's reply; None on the last turn."""
    thoughts: str = ""
    """The agent's thoughts, which the human never saw. Thoughts in `<think>` tags are also in `raw`."""
    human_thoughts: str = ""
    sampled: Sampled | None = None
    """The tokens of `raw`, including the tokens of thoughts; recorded with `--record-tokens`."""
    agent_usage: Usage | None = None
    human_usage: Usage | None = None
    agent_delivery: Delivery | None = None
    """How a model server delivered the agent's reply; None if no model server was called."""
    human_delivery: Delivery | None = None
    agent_seconds: float = 0.0
    human_seconds: float = 0.0
    leak: Leak | None = None
    asked: tuple[str, ...] | None = None
    """Names of the task's decisions (`Fact.name`) that the agent's message asked for, even if the request states them.

    None if the task's decisions are not known.
    """
    told: tuple[str, ...] | None = None
    """Names of the decisions that the human's reply revealed.

    None if there was no reply, or if the task's decisions are not known.
    """
    followed: Followed | None = None
    """Outcomes of the differences that the human's reply pointed out.

    None if this turn or all later turns have no page, or if the reply does not describe a difference in the exact words
    of the rule-based human.
    """
    score: Score | None = None
    """The score of the answer (frontend design: page) in this turn; in the last turn, the score of the final answer.

    None if the turn has no answer, or if the domain's scorer has no `score_turn`.
    """

    @property
    def generated(self) -> str:
        """The model's whole output: `raw`, preceded by thoughts that the server sent separately, in `<think>` tags."""
        if not self.thoughts or split_thoughts(self.raw)[0]:
            return self.raw
        return f"<think>\n{self.thoughts}\n</think>\n\n{self.raw}"

    @property
    def private(self) -> str:
        """The text that the human does not see: the agent's thoughts, and the part of `raw` before "OUTPUT:"."""
        parts = (self.thoughts.strip(), split_reply(self.raw)[1])
        return "\n\n".join(part for part in parts if part)


class Failure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The reason why a dialogue or its scoring ended early, and the boundary at which it failed."""

    boundary: Boundary
    reason: str
    kind: Kind = ""


def is_settled(failure: Failure | None) -> bool:
    """Return True if a dialogue is final: `failure` is None, or the failure is the agent's own."""
    return failure is None or failure.boundary == "agent"


class Rollout(Struct, frozen=True, kw_only=True):
    """The dialogue of one task and one trial of a run, with its scores."""

    schema: str = SCHEMA
    key: str
    """Hash of the task's ID and hash, the trial and the run's configuration; it identifies the cell on resuming."""
    task_id: str
    task_hash: str
    domain: str
    trial: int
    seed: int
    request: str
    turns: tuple[Turn, ...]
    answer: str | None
    """The scored answer; None if the dialogue failed before giving one."""
    ended_by: Literal["answer", "limit", "failure"]
    """The event that ended the dialogue: the agent's answer marker, the turn limit, or a failure."""
    failure: Failure | None = None
    scores: dict[str, Score] = {}
    """Scores by mode, such as `default` and `official`."""
    started: str = ""
    """Start time in UTC, ISO 8601."""
    seconds: float = 0.0
    asking: Asking | None = None
    """Measures of the questions.

    None if the task's decisions are not known, or if the dialogue or its scoring failed through no fault of the agent.
    """

    @property
    def followed(self) -> Followed | None:
        """Outcomes of the differences that the human pointed out in all turns; None if no outcome is known."""
        known = [turn.followed for turn in self.turns if turn.followed]
        return sum(known, Followed()) if known else None

    @property
    def agent_failed(self) -> bool:
        """True if the agent under test failed."""
        return self.failure is not None and is_settled(self.failure)

    @property
    def settled(self) -> bool:
        """True if nothing is left to do, because the dialogue was scored or the agent failed."""
        return is_settled(self.failure)


def cell_key(task_id: str, task_hash: str, trial: int, config_digest: str) -> str:
    """Return the key of one trial of a task in a run whose configuration has this digest."""
    return digest([task_id, task_hash, trial, config_digest])


def cell_seed(seed: int, task_id: str, task_hash: str, trial: int) -> int:
    """Return the seed that the agent receives for a dialogue, derived from the run's seed, the task and the trial."""
    return derive_seed("cell", seed, task_id, task_hash, trial)


def without_times(rollout: Rollout) -> Rollout:
    """Return a rollout without times, waits and request IDs; dialogues that went the same way are then equal."""
    turns = (
        replace(
            turn,
            agent_seconds=0.0,
            human_seconds=0.0,
            agent_delivery=_without_waits(turn.agent_delivery),
            human_delivery=_without_waits(turn.human_delivery),
        )
        for turn in rollout.turns
    )
    return replace(rollout, started="", seconds=0.0, turns=tuple(turns))


def _without_waits(delivery: Delivery | None) -> Delivery | None:
    return delivery and replace(delivery, request_id="", retries=0, waited=0.0)


def failure_of(error: ColBenchError) -> Failure:
    """Convert a BoundaryError to the failure that a rollout records; raise any other error."""
    if isinstance(error, BoundaryError):
        return Failure(boundary=error.boundary, reason=clean(str(error)), kind=error.kind)
    raise error


def encode_rollout(rollout: Rollout) -> bytes:
    """Encode one line of a rollout file, newline included."""
    return msgspec.json.encode(rollout) + b"\n"


def read_rollouts(path: Path) -> list[Rollout]:
    """Return the rollouts of a file: the last one of each key, in order of first appearance; see `iter_rollouts`."""
    return list({rollout.key: rollout for rollout in iter_rollouts(path)}.values())


def iter_rollouts(path: Path) -> Iterator[Rollout]:
    """Yield the rollouts of a file one at a time, even if a later line replaces them (has the same key).

    An incomplete last line is left out. Raises DataError if the file cannot be read, or if a line is malformed; the
    message then names the line.
    """
    return (placed.rollout for placed in placed_rollouts(path))


class PlacedRollout(Struct, frozen=True, kw_only=True):
    """A rollout and its position in a file."""

    rollout: Rollout
    line: int
    """Line number, counted from 1."""
    start: int
    """Byte offset of the rollout's line."""
    length: int
    """Length of the line in bytes, including the newline."""


def placed_rollouts(path: Path, *, start: int = 0, line: int = 1) -> Iterator[PlacedRollout]:
    """Yield the rollouts of a file from the byte offset `start`, where line `line` begins; see `iter_rollouts`."""
    for number, content in enumerate(_whole_lines(path, start), start=line):
        rollout = decode_line(path, content, lambda here=number: here)  # type: ignore[misc]
        yield PlacedRollout(rollout=rollout, line=number, start=start, length=len(content))
        start += len(content)


_DECODER = msgspec.json.Decoder(Rollout)


def decode_line(path: Path, content: bytes, number: Callable[[], int]) -> Rollout:
    """Return the rollout on a line of a file. Raises DataError, which names file and line, if the line is malformed.

    `number` returns the number of the line; it is called only for the error.
    """
    try:
        rollout = _DECODER.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
        raise DataError(f"{path}, line {number()}: not a rollout: {cause}{_fix(path)}") from cause
    if rollout.schema != SCHEMA:
        found = f"schema {rollout.schema}, expected {SCHEMA}"
        raise DataError(f"{path}, line {number()}: {found}{_fix(path)}")
    return rollout


def _fix(path: Path) -> str:
    in_a_run = path.with_name("run.json").exists()
    return f"; `colbench repair {quote(str(path.parent))}` removes such lines" if in_a_run else ""


def _whole_lines(path: Path, start: int) -> Iterator[bytes]:
    """Yield the complete lines with their newlines; an incomplete last line is left out."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            yield from (line for line in file if line.endswith(b"\n"))
    except OSError as cause:
        raise DataError(f"{path}: cannot be read: {cause.strerror}") from cause
