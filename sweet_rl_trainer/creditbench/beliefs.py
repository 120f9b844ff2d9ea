"""Beliefs about the decisions that a task leaves open, and the values that each possible function returns.

`generator_belief`   the population from which tasks are generated: all options of an open decision are equally likely,
                     and so are all values of an option; decisions are independent
`task_belief`        hindsight: the choices of the task's author, with certainty

A design consists of a choice for each decision, and determines a function. All designs are tested with the task's own
calls; the values that a design's function returns are the correct ones for this design. The functions are the families'
own code, which runs in this process, as when tasks are generated.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cached_property
from itertools import product
from math import prod
from types import CodeType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colbench.task import Task
from colbench_tasks import designs
from colbench_tasks.designs import FamilyDesign
from colbench_tasks.family import Choice, Decision
from sweet_rl_trainer.creditbench.values import Outputs

MOST_DESIGNS = 10_000
"""Maximum number of designs that a task may leave possible. To list more would take too long for many tasks."""


class Belief:
    """The possible choices for each open decision of a task, the usual choice first, and the choices' probabilities."""

    def __init__(
        self,
        task: Task,
        design: FamilyDesign,
        choices: Mapping[str, tuple[Choice, ...]],
        weights: tuple[NDArray[np.float64], ...],
    ) -> None:
        self.task, self.design = task, design
        self.names = tuple(choices)
        """The open decisions, in the family's order; each is an axis of a lattice (`values`)."""
        self.choices = tuple(choices.values())
        self.weights = weights

    @cached_property
    def outputs(self) -> Outputs:
        """The return value of every possible function on each call. Values appear as codes (see `values.Outputs`)."""
        shape = tuple(map(len, self.choices))
        rows = [
            self.returned(dict(zip(self.names, each, strict=True)))
            for each in product(*self.choices)
        ]
        return np.array(rows, np.int32).T.reshape(-1, *shape)

    @cached_property
    def actual(self) -> tuple[int, ...]:
        """The author's choices as an index into a lattice (see `values`): one number for each open decision."""
        chosen = self.design.chosen
        return tuple(
            1 + each.index(chosen[name])
            for name, each in zip(self.names, self.choices, strict=True)
        )

    def returned(self, choices: Mapping[str, Choice]) -> list[int]:
        """Return, for each call, the code of the function's return value, or -1 if the function raises an error.

        `choices` override the design's own choices.
        """
        family, theme = self.design.family, self.design.theme
        function = family.function(theme, {**self.design.chosen, **choices})
        return [self._code(function, each) for each in self._calls]

    @cached_property
    def _calls(self) -> list[CodeType]:
        """The compiled arguments of each test call. Each function gets its own values of them, which it may modify."""
        return [_arguments(each) for each in self.task.hidden.tests]

    @cached_property
    def _codes(self) -> dict[object, int]:
        return {}

    def _code(self, function: Any, arguments: CodeType) -> int:
        try:
            value = function(*eval(arguments))  # noqa: S307 - literals of a generated task
        except Exception:  # some choices exclude each other
            return -1
        return self._codes.setdefault(_hashable(value), len(self._codes))


def _arguments(call: str) -> CodeType:
    body = ast.parse(call, mode="eval").body
    arguments = ast.Tuple(elts=body.args if isinstance(body, ast.Call) else [], ctx=ast.Load())
    return compile(ast.fix_missing_locations(ast.Expression(arguments)), "<arguments>", "eval")


def _hashable(value: object) -> object:
    """Return a hashable form of a value; equal values have equal forms."""
    match value:
        case list() | tuple():
            return type(value).__name__, *map(_hashable, value)
        case dict():
            return "dict", frozenset((key, _hashable(each)) for key, each in value.items())
        case set():
            return "set", frozenset(value)
    return value


def generator_belief(task: Task) -> Belief | None:
    """Return the belief of an agent that knows only the family; None if the task belongs to no installed family."""
    design = designs.of(task)
    if design is None:
        return None
    open_ = open_decisions(task, design)
    return Belief(
        task,
        design,
        {each.name: each.choices() for each in open_},
        tuple(np.array(_population(each)) for each in open_),
    )


def task_belief(task: Task) -> Belief | None:
    """Return the belief that is certain of the author's choices; None if the task belongs to no installed family."""
    design = designs.of(task)
    if design is None:
        return None
    choices, weights = {}, []
    for name in (each.name for each in open_decisions(task, design)):
        usual, chosen = design.usual[name], design.chosen[name]
        same = usual == chosen
        choices[name] = (usual,) if same else (usual, chosen)
        weights.append(np.array([1.0] if same else [0.0, 1.0]))
    return Belief(task, design, choices, tuple(weights))


def open_decisions(task: Task, design: FamilyDesign) -> list[Decision]:
    """Return the decisions that a request leaves open, in the family's order."""
    stated = {fact.name for fact in task.hidden.facts if fact.stated}
    return [each for each in design.family.decisions if each.name not in stated]


def number_of_designs(task: Task) -> int | None:
    """Return the number of designs that a request leaves possible; None if the task belongs to no installed family."""
    design = designs.of(task)
    if design is None:
        return None
    return prod(len(each.choices()) for each in open_decisions(task, design))


def _population(decision: Decision) -> list[float]:
    options = [option.choices() for option in decision.options]
    return [1 / len(options) / len(choices) for choices in options for _ in choices]
