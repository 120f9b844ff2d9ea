"""What is counted without running anything: families, difficulty, lengths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import TypeVar

from msgspec import Struct

from colbench.task import Task

Key = TypeVar("Key", int, str)


class Spread(Struct, frozen=True, kw_only=True):
    """The least, the median and the most of some numbers."""

    least: float
    middle: float
    most: float


class Numbers(Struct, frozen=True, kw_only=True):
    """The counts of a set."""

    families: Mapping[str, int]
    """Tasks by family; empty if no task names one."""
    difficulty: Mapping[int, int]
    """Tasks by the number of hidden decisions; empty without facts."""
    stated: int
    """Decisions that requests give away, over all tasks."""
    lengths: Mapping[str, Spread]


def count_all(tasks: Sequence[Task]) -> Numbers:
    """The counts of at least one task."""
    return Numbers(
        families=_sorted(task.family for task in tasks if task.family),
        difficulty=_sorted(task.difficulty for task in tasks if task.difficulty),
        stated=sum(fact.stated for task in tasks for fact in task.hidden.facts),
        lengths=dict(_lengths(tasks)),
    )


def _sorted(values: Iterable[Key]) -> dict[Key, int]:
    return dict(sorted(Counter(values).items()))


def _lengths(tasks: Sequence[Task]) -> Iterable[tuple[str, Spread]]:
    functions = [task for task in tasks if task.hidden.tests]
    pages = [task for task in tasks if not task.hidden.tests]
    yield "request, words", _spread([len(task.request.split()) for task in tasks])
    if functions:
        references = [len(task.hidden.reference.splitlines()) for task in functions]
        yield "reference, lines", _spread(references)
        yield "calls, number", _spread([len(task.hidden.tests) for task in functions])
        calls = [len(call) for task in functions for call in task.hidden.tests]
        yield "one call, characters", _spread(calls)
    if pages:
        yield "page, characters", _spread([len(task.hidden.reference) for task in pages])


def _spread(numbers: Sequence[int]) -> Spread:
    return Spread(least=min(numbers), middle=median(numbers), most=max(numbers))
