"""The state of each decision of a task in one dialogue: whether it was stated, asked for, revealed and followed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from colbench.registry import get_domain
from colbench.rollout import Rollout
from colbench.task import Fact, Task

State = Literal["stated", "told", "ignored", "guessed", "untold"]
"""`stated`: in the request. `told`: revealed by the human. `ignored`: revealed, but contradicted by the answer.

`guessed`: never revealed, but right in the answer. `untold`: never revealed, and not guessed.
"""


class Decision(Struct, frozen=True, kw_only=True):
    """A decision in one dialogue; turns are counted from 1."""

    name: str
    statement: str
    state: State
    asked: int | None
    """The first turn in which the agent asked for the decision; None if the agent never asked for it."""
    told: int | None
    """The first turn in which the human's reply revealed the decision; None if no reply did."""


def decisions_of(task: Task, rollout: Rollout) -> list[Decision]:
    """Return the decisions in the task's order; an empty list if it is unknown which decisions were revealed."""
    if all(turn.asked is None for turn in rollout.turns):
        return []
    return list(_decisions(get_domain(task.domain).decisions(task), rollout))


def _decisions(facts: Sequence[Fact], rollout: Rollout) -> Iterator[Decision]:
    for fact in facts:
        told = _first([turn.told or () for turn in rollout.turns], fact.name)
        yield Decision(
            name=fact.name,
            statement=fact.statement,
            state=_state(fact, told is not None, rollout),
            asked=_first([turn.asked or () for turn in rollout.turns], fact.name),
            told=told,
        )


def _state(fact: Fact, told: bool, rollout: Rollout) -> State:
    asking = rollout.asking
    if asking and fact.name in asking.ignored:
        return "ignored"
    if fact.stated or fact.statement in rollout.request:
        return "stated"
    if told:
        return "told"
    return "guessed" if asking and fact.name in asking.guessed else "untold"


def _first(turns: Sequence[Sequence[str]], name: str) -> int | None:
    return next((n for n, names in enumerate(turns, start=1) if name in names), None)
