"""How guessing, asking, and not being allowed to ask fare on tasks of known families.

A constant policy takes for each decision that the request leaves open what is most frequent, over all tasks of the
family that hide it: chosen in hindsight, so that no policy learnt elsewhere does better by decision. `interviewer`
plays as it is, and once more for each hidden decision, forbidden to ask about it: then it takes the usual choice, and
should solve the task exactly if that is the one. Answers are scored in the sandbox, in the default mode.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from colbench.config import RunConfig
from colbench.dialogue import play
from colbench.domains.backend.scorer import UnitTestScorer
from colbench.interfaces import Agent, Design
from colbench.messages import Message
from colbench.plugins import resolve
from colbench.rollout import Turn
from colbench.task import Task

TURNS = RunConfig().max_turns
DEADLINE = 600.0
"""Seconds for one dialogue."""
FITTED = 10
"""A constant policy of fewer tasks says more of those than of the family."""
Known = tuple[Task, Design]


class Forbidden(Struct, frozen=True, kw_only=True):
    """One play without a question about one hidden decision."""

    decision: str
    usual: bool
    """Whether the task's choice is the one that the interviewer takes when it does not know."""
    solved: bool


class Played(Struct, frozen=True, kw_only=True):
    """What became of one task."""

    family: str
    constant: bool | None
    """Whether the best constant policy solves it; None if it is fitted to fewer than `FITTED` tasks."""
    usual: bool
    """Whether the usual choices solve it: the interviewer without a question."""
    asked: bool
    """Whether the interviewer solves it."""
    forbidden: tuple[Forbidden, ...]


async def play_all(
    known: Sequence[Known], every: Sequence[Known], scorer: UnitTestScorer, done: Callable[[], None]
) -> list[Played]:
    """Play the tasks `known`; what is frequent is counted over `every`. `done` is called after each."""
    frequent = most_frequent(every)
    tasks = Counter(task.family for task, _ in every)

    async def one(task: Task, design: Design) -> Played:
        played = await _Table(task, design, scorer).played(
            frequent[task.family], fitted=tasks[task.family] >= FITTED
        )
        done()
        return played

    return await asyncio.gather(*(one(task, design) for task, design in known))


def most_frequent(every: Sequence[Known]) -> Mapping[str, Mapping[str, Any]]:
    """By family and decision, the choice that most tasks have which hide the decision; of several the first."""
    counts: dict[str, dict[str, Counter[Any]]] = defaultdict(lambda: defaultdict(Counter))
    for task, design in every:
        for name in hidden(task):
            counts[task.family][name][design.chosen[name]] += 1
    return {
        family: {name: count.most_common(1)[0][0] for name, count in decisions.items()}
        for family, decisions in counts.items()
    }


def hidden(task: Task) -> list[str]:
    """The decisions that a request leaves open, by name."""
    return [fact.name for fact in task.hidden.facts if not fact.stated]


class _Human:
    """The keyless human of one task; what it has said to a message it says again."""

    def __init__(self) -> None:
        self._said: dict[str, Message] = {}

    async def respond(self, task: Task, dialogue: Sequence[Message]) -> Message:
        asked = dialogue[-1].content
        if asked not in self._said:
            self._said[asked] = await _keyless().respond(task, dialogue)
        return self._said[asked]


class _Table:
    """One task, played several times; the same answer is scored once."""

    def __init__(self, task: Task, design: Design, scorer: UnitTestScorer) -> None:
        self._task, self._design, self._scorer = task, design, scorer
        self._human = _Human()
        self._known: dict[str, bool] = {}

    async def played(self, frequent: Mapping[str, Any], *, fitted: bool) -> Played:
        guess = {**self._design.chosen, **{name: frequent[name] for name in hidden(self._task)}}
        return Played(
            family=self._task.family,
            constant=await self._solves(self._design.source(guess)) if fitted else None,
            usual=await self._plays(max_questions=0),
            asked=await self._plays(),
            forbidden=tuple([await self._without(name) for name in hidden(self._task)]),
        )

    async def _without(self, name: str) -> Forbidden:
        return Forbidden(
            decision=name,
            usual=self._design.chosen[name] == self._design.usual[name],
            solved=await self._plays(never_asks=name),
        )

    async def _plays(self, **args: Any) -> bool:
        turns: list[Turn] = []
        deadline = asyncio.get_running_loop().time() + DEADLINE
        agent = _interviewer(**args)
        ending = await play(
            self._task, agent, self._human, max_turns=TURNS, deadline=deadline, turns=turns
        )
        return await self._solves(ending.answer)

    async def _solves(self, answer: str) -> bool:
        if answer not in self._known:
            scores = await self._scorer.score(self._task, answer)
            self._known[answer] = bool(scores["default"].success)
        return self._known[answer]


@cache
def _interviewer(**args: Any) -> Agent:
    agent: Agent = resolve("agent", "interviewer", args)
    return agent


@cache
def _keyless() -> Any:
    return resolve("human", "keyless", {})
