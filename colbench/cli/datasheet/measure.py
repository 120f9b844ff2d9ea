"""The measurements of a task set, for its datasheet."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from colbench.checks import Bar, Examination
from colbench.cli.datasheet.answers import Answers, ask_all
from colbench.cli.datasheet.numbers import Numbers, count_all
from colbench.cli.datasheet.plays import Known, Played, play_all
from colbench.cli.datasheet.similar import near_duplicates
from colbench.config import RunConfig
from colbench.export import encode_lines
from colbench.plugins import find_design
from colbench.progress import steps
from colbench.registry import get_domain
from colbench.task import Task


class Measured(Struct, frozen=True, kw_only=True):
    """The measurements of a task set. A part that does not apply, or was not requested, is empty or None."""

    tasks: int
    malformed: int
    sha256: str
    """Hash of the set as JSON lines, as `colbench tasks export --format jsonl` writes them."""
    numbers: Numbers
    similar: int
    """Number of requests that are near-duplicates of an earlier request."""
    same_references: int
    """Number of references that repeat the text of an earlier reference."""
    examinations: tuple[Examination, ...]
    """Results of running the references, one for each domain."""
    answers: Answers | None
    played: tuple[Played, ...]


async def measure(
    tasks: Sequence[Task], config: RunConfig, sample: int, malformed: int
) -> Measured:
    """Measure a task set.

    Only the first `sample` tasks of known families are played, and the rule-based human is asked only about these
    tasks. In a domain whose references take long to run, only the references of the first `sample` tasks are run.

    `malformed`: the number of malformed rows, which is copied into the result.
    """
    by_domain = group_by_domain(tasks)
    with steps() as bar:
        known = list(_known(tasks, bar))
        examinations = [
            await get_domain(name).examine(chosen, config, sample, bar)
            for name, chosen in by_domain.items()
        ]
        played = await play_all(known[:sample], known, config, bar)
        return Measured(
            tasks=len(tasks),
            malformed=malformed,
            sha256=hashlib.sha256(b"".join(encode_lines(tasks))).hexdigest(),
            numbers=count_all(by_domain),
            similar=near_duplicates([task.request for task in tasks]),
            same_references=len(tasks) - len({task.hidden.reference for task in tasks}),
            examinations=tuple(examinations),
            answers=ask_all(known[:sample]) if known[:sample] else None,
            played=tuple(played),
        )


def group_by_domain(tasks: Sequence[Task]) -> Mapping[str, Sequence[Task]]:
    """Return the tasks by domain, with the domains in alphabetical order."""
    names = sorted({task.domain for task in tasks})
    return {name: [task for task in tasks if task.domain == name] for name in names}


def _known(tasks: Sequence[Task], bar: Bar) -> Iterator[Known]:
    """Yield each task that has a design in an installed package, together with this design."""
    step = bar("reading tasks", len(tasks))
    for task in tasks:
        design = find_design(task)
        if design:
            yield task, design
        step()
