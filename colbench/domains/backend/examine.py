"""Statistics of backend tasks for a datasheet: the values that the references return, and the flaws of the tasks."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from colbench.checks import Examination
from colbench.domains.backend.references import Expected
from colbench.domains.backend.scorer import UnitTestScorer, Validation
from colbench.markdown import table
from colbench.numbers import percent
from colbench.sandbox import CodeSandbox
from colbench.sandbox.values import equal, kind
from colbench.task import Task

FLAWS = {
    "all calls give the same value": "an answer need not look at its arguments",
    "all calls give None": "in the official mode no answer can pass",
    "some call gives None": "in the official mode no answer can pass it",
    "some call raises": "or times out, or returns more than 1 MiB; this call is left out in the default mode",
    "some call gives another value the second time": "this call is left out",
    "some value cannot be compared": "its type is unsupported; this call is left out in the default mode",
    "no call can be scored": "the task is left out of all means",
    "the reference does not score 1": "in the default mode",
    "the reference does not score 1 officially": "in the official mode, which follows the released scorer",
}
"""Possible flaws of a task, with explanations."""


async def examine_functions(
    tasks: Sequence[Task], sandbox: CodeSandbox, done: Callable[[], None]
) -> Examination:
    """Run the references of tasks in a started sandbox; return statistics of the values and the flaws of the tasks.

    `done` is called after each task.
    """
    scorer = UnitTestScorer(sandbox)

    async def validate(task: Task) -> Validation:
        found = await scorer.validate(task)
        done()
        return found

    found = await asyncio.gather(*map(validate, tasks))
    flaws = Counter(flaw for validation in found for flaw in _flaws(validation))
    return Examination(
        notes=tuple(_notes([_values(validation.expected) for validation in found])),
        flaws={f"{flaw} ({meaning})": flaws[flaw] for flaw, meaning in FLAWS.items()},
    )


def _notes(values: Sequence[Sequence[bytes]]) -> Iterator[str]:
    """Yield the share of each type of value, and a table that counts tasks by their number of different values."""
    kinds = Counter(kind(value) for each in values for value in each)
    shares = (f"{name} {percent(each / kinds.total())}" for name, each in kinds.most_common())
    yield f"Types of the values that the references return: {', '.join(shares)}."
    distinct = Counter(map(_count_different, values))
    yield table(
        ("different values in a task", *map(str, sorted(distinct))),
        [("tasks", *(f"{distinct[number]:,}" for number in sorted(distinct)))],
    )


def _values(expected: Sequence[Expected]) -> list[bytes]:
    return [item.value for item in expected if item.value]


def _count_different(values: Sequence[bytes]) -> int:
    seen: list[bytes] = []
    for value in values:
        if not any(equal(value, other) for other in seen):
            seen.append(value)
    return len(seen)


def _flaws(found: Validation) -> Iterator[str]:
    values = _values(found.expected)
    kinds = [kind(value) for value in values]
    unscorable = [item for item in found.expected if item.standing == "unscorable"]
    present = {
        "all calls give the same value": found.constant,
        "all calls give None": set(kinds) == {"None"} and len(kinds) == len(found.expected),
        "some call gives None": "None" in kinds,
        "some call raises": any(not item.value for item in unscorable),
        "some call gives another value the second time": bool(found.unstable),
        "some value cannot be compared": any(item.value for item in unscorable),
        "no call can be scored": found.scores["default"].value is None,
        "the reference does not score 1": found.scores["default"].value not in (1, None),
        "the reference does not score 1 officially": found.scores["official"].value != 1,
    }
    return (flaw for flaw in FLAWS if present[flaw])
