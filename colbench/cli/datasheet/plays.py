"""Success of guessing, of asking, and of asking with one decision forbidden, on tasks of known families.

The constant policy asks nothing. For each decision that the request leaves open, it takes the choice that is most
frequent among the family's tasks that hide the decision. These choices are made in hindsight, so on these tasks no
other constant policy is right more often about any decision.

The agent `interviewer` plays each task once with all its questions, once without questions, and once for each hidden
decision without questions about that decision. It assumes the usual choice for a decision that it does not ask about.
If only one decision is forbidden, the agent should solve the task if and only if the usual choice of this decision is
right.

Answers are scored in the domain's first scoring mode.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from colbench.checks import Bar
from colbench.clock import Clock
from colbench.config import RunConfig
from colbench.dialogue import play
from colbench.interfaces import Agent, Design, Scorer
from colbench.messages import Message
from colbench.plugins import resolve
from colbench.registry import get_domain
from colbench.resources import RunResources
from colbench.rollout import Turn
from colbench.task import Task

TURNS = RunConfig().max_turns
LIMIT = 600.0
"""Time limit of one dialogue in seconds."""
FITTED = 10
"""Minimum number of tasks of a family for a constant policy; with fewer, the policy would overfit."""
Known = tuple[Task, Design]


class Forbidden(Struct, frozen=True, kw_only=True):
    """One dialogue of an `interviewer` that must not ask about one hidden decision."""

    decision: str
    usual: bool
    """True if the task's choice is the usual choice, which the interviewer assumes without asking."""
    solved: bool


class Played(Struct, frozen=True, kw_only=True):
    """The results of playing one task."""

    family: str
    constant: bool | None
    """True if the best constant policy solves the task; None if its family has fewer than `FITTED` tasks."""
    usual: bool
    """True if the usual choices, which the interviewer assumes without asking, solve the task."""
    asked: bool
    """True if the interviewer solves the task when it may ask every question."""
    forbidden: tuple[Forbidden, ...]


async def play_all(
    sample: Sequence[Known], known: Sequence[Known], config: RunConfig, bar: Bar
) -> list[Played]:
    """Play the tasks of `sample`. The constant policy makes each family's most frequent choices in `known`."""
    if not sample:
        return []
    frequent = most_frequent(known)
    sizes = Counter(task.family for task, _ in known)
    done = bar("dialogues", len(sample))
    async with RunResources(config, [task for task, _ in sample]) as resources:
        scorers = resources.scorers()

        async def one(task: Task, design: Design) -> Played:
            played = await _Table(task, design, scorers[task.domain]).played(
                frequent.get(task.family, {}), fitted=sizes[task.family] >= FITTED
            )
            done()
            return played

        return await asyncio.gather(*(one(task, design) for task, design in sample))


def most_frequent(every: Sequence[Known]) -> Mapping[str, Mapping[str, Any]]:
    """Return the most frequent choice for each decision of each family, among the tasks that hide the decision.

    On a tie, return the choice that occurs first.
    """
    counts: dict[str, dict[str, Counter[Any]]] = defaultdict(lambda: defaultdict(Counter))
    for task, design in every:
        for name in hidden(task):
            counts[task.family][name][design.chosen[name]] += 1
    return {
        family: {name: count.most_common(1)[0][0] for name, count in decisions.items()}
        for family, decisions in counts.items()
    }


def hidden(task: Task) -> list[str]:
    """Return the names of the decisions that a request leaves open."""
    return [fact.name for fact in task.hidden.facts if not fact.stated]


class _Human:
    """The rule-based human of one task. The human's reply to each message is computed only once."""

    def __init__(self) -> None:
        self._said: dict[str, Message] = {}

    async def respond(self, task: Task, dialogue: Sequence[Message]) -> Message:
        asked = dialogue[-1].content
        if asked not in self._said:
            self._said[asked] = await _keyless().respond(task, dialogue)
        return self._said[asked]


class _Table:
    """A task on which several dialogues are played; equal answers are scored only once."""

    def __init__(self, task: Task, design: Design, scorer: Scorer) -> None:
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
        agent = _interviewer(**args)
        ending = await play(
            self._task, agent, self._human, max_turns=TURNS, clock=Clock(LIMIT), turns=turns
        )
        return await self._solves(ending.answer)

    async def _solves(self, answer: str) -> bool:
        if answer not in self._known:
            scores = await self._scorer.score(self._task, answer)
            self._known[answer] = scores[get_domain(self._task.domain).modes[0]].value == 1
        return self._known[answer]


@cache
def _interviewer(**args: Any) -> Agent:
    agent: Agent = resolve("agent", "interviewer", args)
    return agent


@cache
def _keyless() -> Any:
    return resolve("human", "keyless", {})
