"""The statistics of one dialogue for a report: its verdicts and counts, without its texts.

A report keeps one such object for each dialogue, small enough that millions fit into memory. Values shared by many
dialogues, such as a verdict or a reason, are stored once.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from colbench.asking.failure_class import FailureClass, crash_error, failure_class
from colbench.domain import Metric
from colbench.messages import Delivery, Usage, split_thoughts
from colbench.registry import get_domain
from colbench.rollout import Asking, Failure, Followed, Rollout, Turn, is_settled
from colbench.score import Score
from colbench.task import Task

T = TypeVar("T", bound=Hashable)
TEXTS = ("scorer", "outcome", "note", "environment")
"""Fields of a verdict with values that many verdicts share."""
LONGEST_ERROR = 120
"""Maximum number of characters kept of an answer's error."""
NO_FLOORS: dict[str, dict[str, float]] = {}
"""The empty mapping shared by all verdicts that are kept without floors."""
NEVER = 1 << 30
"""Placeholder for the turn of something that never happened."""
Reply = tuple[Usage | None, Delivery | None, bool]
"""Tokens and delivery of one reply, and True if the reply is empty.

If no model server was called, the delivery is None, and the third value is ignored.
"""


class Judged(Protocol):
    """A dialogue with verdicts: a whole rollout, or the statistics of a rollout."""

    @property
    def domain(self) -> str:
        """Name of the domain."""

    @property
    def scores(self) -> Mapping[str, Score]:
        """Verdicts by scoring mode."""

    @property
    def agent_failed(self) -> bool:
        """True if the agent under test failed."""

    @property
    def settled(self) -> bool:
        """True if the dialogue is final: it did not fail, or the failure is the agent's own."""

    @property
    def asking(self) -> Asking | None:
        """Measures of the questions."""


class RoleStats(Struct, frozen=True, kw_only=True, gc=False):
    """The replies of one role in a dialogue."""

    uncounted: int = 0
    """Number of replies for which no server reported a token count."""
    usage: Usage | None = None
    """Tokens of the counted replies; None if no reply was counted."""
    served: int = 0
    """Number of replies that came from a model server; the fields below cover only these replies."""
    empty: int = 0
    cut: int = 0
    filtered: int = 0
    refused: int = 0
    retries: int = 0
    waits: tuple[float, ...] = ()
    """Seconds waited, for each reply that had to wait."""


class DialogueStats(Struct, frozen=True, kw_only=True, gc=False):
    """The measures of one dialogue. The fields that `Judged` also has are explained in `Judged`."""

    place: int
    """Position of the dialogue: the byte offset of its line, or its index in a list."""
    domain: str
    scores: dict[str, Score]
    """The scores, without tests and floors."""
    floors: Mapping[str, Mapping[str, float]] | None
    """Metrics of answers that need no dialogue (`Domain.floors_of`).

    None if the dialogue is not scored in the domain's first mode.
    """
    failure: Failure | None
    ended_by: str
    failed_as: dict[str, FailureClass | None]
    """Failure class of the dialogue by scoring mode; None in a mode in which the dialogue did not fail."""
    errors: dict[str, str]
    """The most frequent error in the tests of the answer, for each scoring mode in which the answer crashed.

    If the scorer gives no errors of tests, this is the note of the score, which may be "".
    """
    turns: int
    questions: int
    """Number of turns that the human replied to."""
    turns_scored: bool
    """True if a turn has a verdict."""
    primary: array[float] | None
    """The domain's primary metric by turn, NaN for a turn without a value; None if no turn has a value."""
    fallback: array[float] | None
    human_words: int
    agent_words: int
    agent: RoleStats
    human: RoleStats
    leak: tuple[float, float, float] | None
    """Shares of the reference's identifiers, literals and n-grams that leaked; None if the dialogue was not audited."""
    began: float | None
    """Start time in seconds since the epoch; None if unknown."""
    seconds: float
    asking: Asking | None
    hidden: tuple[str, ...]
    """Names of the decisions that the request does not state; empty if the dialogue's questions were not analyzed."""
    asked: tuple[bool, ...]
    """For each hidden decision, True if one of the agent's messages asked for it."""
    told_at: tuple[int, ...]
    """For each hidden decision, the first turn (from 0) whose reply revealed it; `NEVER` if no reply did."""
    followed: Followed | None

    @property
    def agent_failed(self) -> bool:
        """True if the agent under test failed."""
        return self.failure is not None and is_settled(self.failure)

    @property
    def settled(self) -> bool:
        """True if the dialogue is final: it did not fail, or the failure is the agent's own."""
        return is_settled(self.failure)

    def failure_class(self, mode: str) -> FailureClass | None:
        """Return the dialogue's failure class in a mode (`colbench.asking.failure_class`).

        Return None if the dialogue did not fail, or has no score in the mode.
        """
        return "crashed" if self.agent_failed else self.failed_as.get(mode)

    def by_turn(self, metric: Metric) -> list[float | None]:
        """Return the value of a metric, the primary or the fallback one, in each turn; empty if no turn has a value."""
        values = self.primary if metric.role == "primary" else self.fallback
        return [None if math.isnan(value) else value for value in values or ()]


def human_words(rollout: Rollout) -> int:
    """Count the words of the human's replies; the request is not counted."""
    return sum(len((turn.human or "").split()) for turn in rollout.turns)


def agent_words(rollout: Rollout) -> int:
    """Count the words that the human was given to read (`Domain.readable`)."""
    talk = rollout.turns[:-1] if rollout.ended_by == "limit" else rollout.turns
    readable = get_domain(rollout.domain).readable
    return sum(len(readable(turn.said).split()) for turn in talk)


class _Metrics(Mapping[str, float]):
    """A mapping of metrics that needs a third of a dict's memory, because many mappings share one tuple of names."""

    __slots__ = ("_names", "_values")

    def __init__(self, names: tuple[str, ...], values: array[float]) -> None:
        self._names, self._values = names, values

    def __getitem__(self, name: str) -> float:
        if name not in self._names:
            raise KeyError(name)
        return self._values[self._names.index(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Measurer:
    """A measurer of dialogues. A value that many dialogues share is stored only once."""

    def __init__(self) -> None:
        self._known: defaultdict[str, dict[Hashable, Any]] = defaultdict(dict)

    def measure(self, rollout: Rollout, place: int, task: Task | None = None) -> DialogueStats:
        """Return the statistics of a dialogue at `place` (`DialogueStats.place`).

        Without `task`, the statistics of the dialogue's questions are incomplete.
        """
        domain = get_domain(rollout.domain)
        hidden = hidden_decisions(rollout, task) if task and rollout.asking is not None else ()
        turns, leak = rollout.turns, _leak(rollout)
        asked = {name for turn in turns for name in turn.asked or ()}
        told = {name: at for at in reversed(range(len(turns))) for name in turns[at].told or ()}
        scored = [turn.score for turn in turns]
        human = [turn for turn in turns if turn.human is not None]
        return DialogueStats(
            place=place,
            domain=domain.name,
            scores=self._scores(rollout),
            floors=self._floors(rollout),
            failure=rollout.failure and self._same("failure", rollout.failure),
            ended_by=self._same("end", rollout.ended_by),
            failed_as=self._failed_as(rollout),
            errors=self._errors(rollout),
            turns=len(turns),
            questions=len(human),
            turns_scored=any(score is not None for score in scored),
            primary=_by_turn(domain.primary, scored),
            fallback=_by_turn(domain.fallback, scored) if domain.fallback else None,
            human_words=human_words(rollout),
            agent_words=agent_words(rollout),
            agent=self._role([_agent_reply(turn) for turn in turns]),
            human=self._role([_human_reply(turn) for turn in human]),
            leak=leak and self._same("leak", leak),
            began=_timestamp(rollout.started),
            seconds=rollout.seconds,
            asking=rollout.asking and self._same("asking", rollout.asking),
            hidden=self._same("hidden", hidden),
            asked=self._same("asked", tuple(name in asked for name in hidden)),
            told_at=self._same("told", tuple(told.get(name, NEVER) for name in hidden)),
            followed=(found := rollout.followed) and self._same("followed", found),
        )

    def _same(self, kind: str, value: T) -> T:
        """Return the stored object that equals a value of this kind, so that equal values share memory."""
        known: T = self._known[kind].setdefault(value, value)
        return known

    def _scores(self, rollout: Rollout) -> dict[str, Score]:
        found = {mode: self._slim(score) for mode, score in rollout.scores.items()}
        if any(score.metrics for score in found.values()):
            return found
        alike = tuple((mode, id(score)) for mode, score in found.items())
        known: dict[str, Score] = self._known["scores"].setdefault(alike, found)
        return known

    def _slim(self, score: Score) -> Score:
        """Return a verdict without tests and floors."""
        if score.metrics:
            return self._measured(score)
        texts = tuple(getattr(score, name) for name in TEXTS)
        alike = (score.value, score.success, texts)
        if alike not in self._known["score"]:
            self._known["score"][alike] = replace(score, checks=(), floors=NO_FLOORS)
        known: Score = self._known["score"][alike]
        return known

    def _measured(self, score: Score) -> Score:
        """Return a verdict in compact form: with its metrics, but without tests and floors."""
        texts = {name: self._same(name, getattr(score, name)) for name in TEXTS}
        names = self._same("metrics", tuple(score.metrics))
        metrics = _Metrics(names, array("d", list(score.metrics.values())))
        return replace(score, **texts, checks=(), metrics=metrics, floors=NO_FLOORS)

    def _floors(self, rollout: Rollout) -> Mapping[str, Mapping[str, float]] | None:
        domain = get_domain(rollout.domain)
        score = rollout.scores.get(domain.modes[0])
        if score is None:
            return None
        floors = domain.floors_of(score)
        alike = tuple((floor, tuple(each.items())) for floor, each in floors.items())
        known: Mapping[str, Mapping[str, float]]
        known = self._known["floors"].setdefault(alike, floors)
        return known

    def _failed_as(self, rollout: Rollout) -> dict[str, FailureClass | None]:
        found = {mode: failure_class(rollout, mode) for mode in rollout.scores}
        known: dict[str, FailureClass | None]
        known = self._known["failed"].setdefault(tuple(found.items()), found)
        return known

    def _errors(self, rollout: Rollout) -> dict[str, str]:
        found = {
            mode: crash_error(score)[:LONGEST_ERROR]
            for mode, score in rollout.scores.items()
            if not rollout.agent_failed and failure_class(rollout, mode) == "crashed"
        }
        known: dict[str, str] = self._known["errors"].setdefault(tuple(found.items()), found)
        return known

    def _role(self, replies: Sequence[Reply]) -> RoleStats:
        counted = [usage for usage, _, _ in replies if usage]
        served = [(delivery, empty) for _, delivery, empty in replies if delivery]
        found = RoleStats(
            uncounted=len(replies) - len(counted),
            usage=sum(counted, Usage()) if counted else None,
            served=len(served),
            empty=sum(empty for _, empty in served),
            cut=sum(delivery.cut for delivery, _ in served),
            filtered=sum(delivery.filtered for delivery, _ in served),
            refused=sum(delivery.refused for delivery, _ in served),
            retries=sum(delivery.retries for delivery, _ in served),
            waits=tuple(delivery.waited for delivery, _ in served if delivery.waited),
        )
        return found if counted or served else self._same("role", found)


def _agent_reply(turn: Turn) -> Reply:
    delivery = turn.agent_delivery
    empty = delivery is not None and not split_thoughts(turn.raw)[1].strip()
    return turn.agent_usage, delivery, empty


def _human_reply(turn: Turn) -> Reply:
    return turn.human_usage, turn.human_delivery, not turn.human


def hidden_decisions(rollout: Rollout, task: Task) -> tuple[str, ...]:
    """Return the names of the decisions that the request does not state."""
    return tuple(
        fact.name
        for fact in get_domain(task.domain).decisions(task)
        if not fact.stated and fact.statement not in rollout.request
    )


def _leak(rollout: Rollout) -> tuple[float, float, float] | None:
    """Return the shares of identifiers, literals and n-grams that the replies revealed; None if no turn was audited."""
    found = [turn.leak for turn in rollout.turns if turn.leak]
    if not found:
        return None
    return (
        min(1.0, sum(leak.identifiers for leak in found)),
        min(1.0, sum(leak.literals for leak in found)),
        min(1.0, sum(leak.ngrams for leak in found)),
    )


def _by_turn(metric: Metric, scores: Sequence[Score | None]) -> array[float] | None:
    values = [metric.of(score) for score in scores]
    if all(value is None for value in values):
        return None
    return array("d", [math.nan if value is None else value for value in values])


def _timestamp(started: str) -> float | None:
    return datetime.fromisoformat(started).timestamp() if started else None
