"""Everything that a datasheet says of a set, measured."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points

from msgspec import Struct

from colbench.checks import TaskCheck
from colbench.cli.datasheet.answers import Answers, ask_all
from colbench.cli.datasheet.numbers import Numbers, count_all
from colbench.cli.datasheet.plays import Known, Played, play_all
from colbench.cli.datasheet.references import Outputs, outputs
from colbench.cli.datasheet.similar import near_duplicates
from colbench.cli.export import lines
from colbench.code_resources import CodeResources
from colbench.config import RunConfig
from colbench.domain import get_domain
from colbench.domains.backend.scorer import UnitTestScorer, Validation
from colbench.task import Task

Bar = Callable[[str, int], Callable[[], None]]
"""Shows a bar with a label and so many steps, and gives what counts one."""


class Measured(Struct, frozen=True, kw_only=True):
    """What was found out. None, or empty, where it does not apply or was not asked for."""

    tasks: int
    malformed: int
    sha256: str
    """Of the set as `colbench tasks export` writes it."""
    numbers: Numbers
    similar: int
    """Requests that are near-duplicates of an earlier one."""
    same_references: int
    """References that are the same text as an earlier one."""
    outputs: Outputs | None
    answers: Answers | None
    played: tuple[Played, ...]
    pages: tuple[TaskCheck, ...]


async def measure(
    tasks: Sequence[Task], config: RunConfig, sample: int, malformed: int
) -> Measured:
    """Measure a set; dialogues are played, and pages rendered, for its first `sample` tasks."""
    with _bars() as bar:
        functions = [task for task in tasks if task.hidden.tests]
        pages = [task for task in tasks if get_domain(task.domain).pictured]
        known = list(_known(functions, bar))
        found, played = await _run(functions, known, config, sample, bar)
        return Measured(
            tasks=len(tasks),
            malformed=malformed,
            sha256=hashlib.sha256(b"".join(lines(tasks))).hexdigest(),
            numbers=count_all(tasks),
            similar=near_duplicates([task.request for task in tasks]),
            same_references=len(tasks) - len({task.hidden.reference for task in tasks}),
            outputs=outputs(found) if found else None,
            answers=ask_all(known[:sample]) if known[:sample] else None,
            played=tuple(played),
            pages=tuple(await _look(pages[:sample], config, bar)),
        )


def _known(tasks: Sequence[Task], bar: Bar) -> Iterator[Known]:
    """The tasks whose decisions an installed package knows, with them."""
    finders = [point.load() for point in entry_points(group="colbench.designs")]
    step = bar("reading tasks", len(tasks))
    for task in tasks:
        design = next(filter(None, (find(task) for find in finders)), None)
        if design:
            yield task, design
        step()


async def _run(
    tasks: Sequence[Task], known: Sequence[Known], config: RunConfig, sample: int, bar: Bar
) -> tuple[list[Validation], list[Played]]:
    """What running the references finds, and what becomes of the first tasks when they are played."""
    if not tasks:
        return [], []
    async with CodeResources(config) as resources:
        sandbox = resources.sandbox
        found = await _validate(tasks, UnitTestScorer(sandbox), bar("references", len(tasks)))
        first = known[:sample]
        scorer = UnitTestScorer(sandbox, modes=("default",))
        return found, await play_all(first, known, scorer, bar("dialogues", len(first)))


async def _validate(
    tasks: Sequence[Task], scorer: UnitTestScorer, done: Callable[[], None]
) -> list[Validation]:
    async def one(task: Task) -> Validation:
        found = await scorer.validate(task)
        done()
        return found

    return await asyncio.gather(*map(one, tasks))


async def _look(tasks: Sequence[Task], config: RunConfig, bar: Bar) -> list[TaskCheck]:
    """What `colbench validate` finds out about pages, without the cosine."""
    if not tasks:
        return []
    from colbench.domains.frontend.check import check_pages

    return await check_pages(tasks, config, None, bar("pages", len(tasks)))


@contextmanager
def _bars() -> Iterator[Bar]:
    from rich.progress import Progress

    from colbench.console import errors

    with Progress(console=errors(), transient=True, disable=not errors().is_terminal) as progress:

        def bar(label: str, steps: int) -> Callable[[], None]:
            shown = progress.add_task(label, total=steps)
            return lambda: progress.advance(shown)

        yield bar
