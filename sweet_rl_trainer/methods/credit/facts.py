"""`facts`: the share of the task's tests that a guess passes, given the facts that the dialogue has revealed.

    share(K) = the share of tests that a guess passes. The guess is a function with the reference's choice for each
               decision in K (those that the request or a reply reveals). For every other decision, it has the usual
               choice: the first choice that the task's family lists.
    Φ_p(o)   = Σ_{S ⊆ H∖K} p^|S| (1 − p)^|H∖K∖S| share(K ∪ S),   H: all hidden decisions

Φ_0(o) is share(K): the share of tests that an answer now would pass. Φ_p(o) is the expected share for a later answer.
Before this answer, each decision outside K is revealed with probability p. So Φ_p(o) is the value of o for an agent
whose later questions reveal decisions with this probability. For every p, the credits of a dialogue telescope
(`advantage`). But p decides how the credit is spread over the turns, because most tests need several decisions. At
p = 0, most questions that settle one of many hidden decisions change nothing and are worth less than an answer now. At
p = 1/2, these questions are worth more than an answer now (`test_facts`).

The potential is deterministic, needs no model, and is exact for tasks of the installed families, because it reads the
design that the human has in mind. The functions are the family's own code, which runs in this process, as when tasks
are generated.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from types import CodeType
from typing import Any

from colbench.asking.telling import told
from colbench.errors import DataError
from colbench.task import Task
from colbench_tasks import designs
from colbench_tasks.designs import FamilyDesign
from sweet_rl_trainer.data.facts import told_at_first
from sweet_rl_trainer.methods.credit.state import State

TABLES = 4096
"""Maximum number of tasks whose shares are cached."""

Facts = frozenset[str]
"""Names of hidden decisions."""


class FactsPotential:
    """A function that computes the potential Φ of states from the facts that the human has revealed."""

    def __init__(self, *, told_later: float) -> None:
        """Create the function. `told_later` is p, the probability that an unrevealed fact is revealed later."""
        self._told_later = told_later

    def __call__(self, states: Sequence[State]) -> list[float | None]:
        """Return the expected share of tests passed, 0 to 1, for each state; None if its task has no `guess_table`."""
        return [self._of(state) for state in states]

    def _of(self, state: State) -> float | None:
        table = guess_table(state.task)
        return table.expected(facts_told(state), self._told_later) if table else None


def facts_told(state: State) -> Facts:
    """Return the decisions that the human has revealed, in replies (`colbench.asking.telling`) or in the first message.

    The first message reveals the decisions that it adds to the request, for example all of them with `--told all`.
    """
    opening, *replies = state.heard
    first = frozenset(fact.name for fact in told_at_first(state.task, opening))
    turns = zip(state.said, replies, strict=True)
    return first.union(*(_told(state.task, said, reply) for said, reply in turns))


@lru_cache(maxsize=65536)
def _told(task: Task, said: str, reply: str) -> Facts:
    return frozenset(fact.name for fact in told(task, said, reply))


class GuessTable:
    """The share of a task's tests that a guess passes, for each set of known decisions. Each share is computed once."""

    def __init__(self, task: Task, design: FamilyDesign) -> None:
        """Prepare the table. Raises DataError if a test of the task is not a call with literal arguments."""
        self.hidden = tuple(fact.name for fact in task.hidden.facts if not fact.stated)
        """The decisions that the request leaves open, in the task's order."""
        self._unusual = tuple(
            name for name in self.hidden if design.chosen[name] != design.usual[name]
        )
        """Decisions that change the guess when they are revealed."""
        self._design = design
        self._calls = [_arguments(task, call) for call in task.hidden.tests]
        self._stated = frozenset(design.chosen) - frozenset(self.hidden)
        self._expected = self._outcomes(frozenset(design.chosen))
        self._shares: dict[Facts, float] = {}
        self._expected_shares: dict[tuple[Facts, float], float] = {}

    def share(self, known: Collection[str]) -> float:
        """Return the share of tests that a guess passes, given the decisions in `known` and in the request."""
        facts = frozenset(known).intersection(self._unusual)
        if facts not in self._shares:
            outcomes = self._outcomes(facts | self._stated)
            passed = map(_same, outcomes, self._expected)
            self._shares[facts] = sum(passed) / len(self._expected)
        return self._shares[facts]

    def expected(self, known: Collection[str], told_later: float) -> float:
        """Return Φ_p for the decisions in `known`.

        p is `told_later`: any decision outside `known` is revealed later with this probability.
        """
        facts = frozenset(known).intersection(self._unusual)
        if (facts, told_later) not in self._expected_shares:
            rest = [name for name in self._unusual if name not in facts]
            self._expected_shares[facts, told_later] = sum(
                _chance(len(more), len(rest), told_later) * self.share(facts | more)
                for more in subsets(rest)
                if told_later or not more
            )
        return self._expected_shares[facts, told_later]

    def all(self) -> Mapping[Facts, float]:
        """Return the share of tests passed for each set of known decisions: all 2^n subsets of n hidden decisions."""
        return {facts: self.share(facts) for facts in subsets(self.hidden)}

    def _outcomes(self, known: Facts) -> list[Any]:
        """Return the value or the error type of each call.

        Decisions in `known` have the reference's choices, and all other decisions have the usual choices.
        """
        chosen, usual = self._design.chosen, self._design.usual
        choices = {name: (chosen if name in known else usual)[name] for name in chosen}
        function = self._design.family.function(self._design.theme, choices)
        return [_outcome(function, call) for call in self._calls]


def _chance(told: int, of: int, each: float) -> float:
    """Return the probability that exactly a given set of `told` facts is revealed, out of `of` facts.

    Each fact is revealed independently with probability `each`.
    """
    chance: float = each**told * (1 - each) ** (of - told)
    return chance


def subsets(names: Sequence[str]) -> Iterator[Facts]:
    """Yield every subset of some names, the smaller ones first."""
    for size in range(len(names) + 1):
        yield from map(frozenset, combinations(names, size))


@lru_cache(maxsize=TABLES)
def guess_table(task: Task) -> GuessTable | None:
    """Return the GuessTable of a task; None if the task has no tests or is not from an installed family."""
    design = designs.of(task)
    return GuessTable(task, design) if design and task.hidden.tests else None


def _arguments(task: Task, call: str) -> CodeType:
    """Compile a call's arguments; each evaluation creates new values. Raises DataError unless all are literals."""
    try:
        body = ast.parse(call, mode="eval").body
        assert isinstance(body, ast.Call)  # noqa: S101 - caught below
        assert not body.keywords  # noqa: S101
        for each in body.args:
            ast.literal_eval(each)
    except (SyntaxError, ValueError, AssertionError) as cause:
        raise DataError(
            f"{task.id}: the test {call[:80]!r} is not a call with literal arguments"
        ) from cause
    arguments = ast.Expression(ast.Tuple(elts=body.args, ctx=ast.Load()))
    return compile(ast.fix_missing_locations(arguments), "<arguments>", "eval")


def _outcome(function: Any, arguments: CodeType) -> Any:
    try:
        return function(*eval(arguments))  # noqa: S307 - only literals
    except Exception as cause:
        return type(cause)


def _same(one: Any, other: Any) -> bool:
    """Return True if two outcomes are equal in the scorer's comparison; an error equals nothing."""
    return not isinstance(one, type) and bool(one == other)
