"""Counts of a task set that need no dialogue or scoring: families, difficulty, lengths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import TypeVar

from msgspec import Struct

from colbench.registry import get_domain
from colbench.task import Task

Key = TypeVar("Key", int, str)


class Spread(Struct, frozen=True, kw_only=True):
    """The minimum, the median and the maximum of some numbers."""

    least: float
    middle: float
    most: float


class Numbers(Struct, frozen=True, kw_only=True):
    """The counts of a task set."""

    families: Mapping[str, int]
    """Number of tasks by family; empty if no task has a family."""
    difficulty: Mapping[int, int]
    """Number of tasks by the number of hidden decisions; tasks without hidden decisions are left out."""
    stated: int
    """Total number of decisions that the requests of all tasks state."""
    lengths: Mapping[str, Spread]
    """Spread of the sizes of requests and of hidden parts, by part and unit, such as `request, words`."""


def count_all(by_domain: Mapping[str, Sequence[Task]]) -> Numbers:
    """Return the counts over all tasks. Lengths of hidden parts are by domain; every domain must have a task."""
    tasks = [task for chosen in by_domain.values() for task in chosen]
    return Numbers(
        families=_sorted(task.family for task in tasks if task.family),
        difficulty=_sorted(task.difficulty for task in tasks if task.difficulty),
        stated=sum(fact.stated for task in tasks for fact in task.hidden.facts),
        lengths=dict(_lengths(by_domain)),
    )


def _sorted(values: Iterable[Key]) -> dict[Key, int]:
    return dict(sorted(Counter(values).items()))


def _lengths(by_domain: Mapping[str, Sequence[Task]]) -> Iterable[tuple[str, Spread]]:
    requests = [task.request for tasks in by_domain.values() for task in tasks]
    yield "request, words", _spread([len(request.split()) for request in requests])
    for name, tasks in by_domain.items():
        for label, sizes in get_domain(name).sizes(tasks).items():
            yield label, _spread(sizes)


def _spread(numbers: Sequence[int]) -> Spread:
    return Spread(least=min(numbers), middle=median(numbers), most=max(numbers))
