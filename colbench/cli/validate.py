"""`colbench tasks validate`: check that tasks can be scored: every reference must score 1 and an empty answer 0.

In frontend design, two renders of the reference must also be equal. Returns 1 if a task fails one of these checks (for
scores, only the default mode counts), or if a row of a task file is malformed. Other flaws are only listed, such as
rows that repeat a task, backend requests without a signature, and facts that no question can match.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from colbench.cli.files import add_overwrite, written_whole
from colbench.command import describe
from colbench.config import RunConfig
from colbench.errors import UserError
from colbench.export import encode_lines
from colbench.facts.words import content
from colbench.flags import add_config_flags, add_source, read_source
from colbench.progress import steps
from colbench.registry import get_domain
from colbench.selection import find_tasks, lines_of
from colbench.task import Task

if TYPE_CHECKING:
    from colbench.checks import TaskCheck

FLAGS = (
    "tasks",
    "domain",
    "limit",
    "sandbox_workers",
    "sandbox_tier",
    "sandbox_packages",
    "allow_unsafe_sandbox",
    "browser",
    "browser_workers",
    "clip_weights",
    "clip_device",
    "allow_other_clip",
)


class Summary(Struct, frozen=True, kw_only=True):
    """The result of checking a source."""

    source: str
    tasks: int
    default: int
    """Number of references that score 1 in the default mode."""
    official: int | None
    """Number of references that score 1 in official mode.

    None if no reference could be scored in this mode, for example because the CLIP weights are missing.
    """
    blank: int
    """Number of tasks on which an empty answer scores 0."""
    constant: tuple[str, ...]
    """Ids of tasks whose hidden tests all expect the same value."""
    unsteady: tuple[str, ...]
    """Ids of tasks whose reference does not give the same result twice."""
    floors: dict[str, dict[str, float]]
    """Mean scores of trivial answers, by answer and metric (docs/frontend.md); empty in a domain without floors."""
    flawed: tuple[TaskCheck, ...]
    repeated: dict[str, str] = {}
    """Ids of tasks that duplicate an earlier task, each with the id of the earlier task."""
    unmatched: dict[str, tuple[str, ...]] = {}
    """Names of the facts that no question can match, by the task's id."""
    malformed: tuple[str, ...] = ()
    """Malformed rows: the file, the line and the reason for each."""
    lines: dict[str, int] = {}
    """Line numbers of the tasks in `flawed`, `repeated` and `unmatched`, by id; only for a file of JSON lines."""


def add_to(actions: Any) -> None:
    """Add the command `tasks validate` to the parser."""
    parser = actions.add_parser(
        "validate", help="check that tasks can be scored", description=describe(__doc__)
    )
    add_source(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--exclude",
        metavar="FILE",
        help="write a task file without the tasks that cannot be scored and without malformed rows",
    )
    add_overwrite(parser)
    add_config_flags(parser, only=FLAGS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print every task with a flaw, and the totals; write the file of `--exclude`.

    Return 1 if a task cannot be scored or a row is malformed, else 0.
    """
    malformed: list[str] = []
    config, tasks = find_tasks(read_source(args), malformed)
    with _written(args) as file:
        checks = asyncio.run(_check_all(tasks, config))
        found = replace(
            summary(config.tasks, checks, malformed),
            repeated=repeated(tasks),
            unmatched=unmatched(tasks),
        )
        found = replace(found, lines=_lines(found))
        _print_json(found) if args.json else _print(found, checks)
        if file:
            _write_sound(file, args.exclude, tasks, checks)
    return 0 if all(check.sound for check in checks) and not malformed else 1


def _written(args: argparse.Namespace) -> AbstractContextManager[Path | None]:
    """Return a context whose value is the file to write, or None without `--exclude`."""
    if not args.exclude:
        return nullcontext()
    return written_whole(Path(args.exclude), overwrite=args.overwrite, flag="--exclude")


async def _check_all(tasks: Sequence[Task], config: RunConfig) -> list[TaskCheck]:
    by_id: dict[str, TaskCheck] = {}
    with steps() as bar:
        done = bar("validating", len(tasks))
        for name in dict.fromkeys(task.domain for task in tasks):
            chosen = [task for task in tasks if task.domain == name]
            checks = await get_domain(name).check(chosen, config, done)
            by_id |= {check.id: check for check in checks}
    return [by_id[task.id] for task in tasks]


def repeated(tasks: Sequence[Task]) -> dict[str, str]:
    """Return the ids of tasks that duplicate an earlier task, each with the id of the earlier task."""
    first: dict[str, str] = {}
    pairs = [(task.id, first.setdefault(task.hash, task.id)) for task in tasks]
    return {name: other for name, other in pairs if name != other}


def unmatched(tasks: Sequence[Task]) -> dict[str, tuple[str, ...]]:
    """Return, by the task's id, the names of the facts whose topics and examples have no words to match."""
    found = {
        task.id: tuple(
            fact.name
            for fact in task.hidden.facts
            if not any(map(content, (*fact.topics, *fact.examples)))
        )
        for task in tasks
    }
    return {name: facts for name, facts in found.items() if facts}


def _lines(found: Summary) -> dict[str, int]:
    """Return the line of each listed task by id; an empty dict if the source is not a file of JSON lines."""
    listed = {check.id for check in found.flawed} | found.repeated.keys() | found.unmatched.keys()
    lines = lines_of(found.source) if listed else {}
    return {name: line for name, line in lines.items() if name in listed}


def summary(source: str, checks: Sequence[TaskCheck], malformed: Sequence[str] = ()) -> Summary:
    """Return the totals over the checks of a source."""
    return Summary(
        source=source,
        tasks=len(checks),
        default=sum(check.default == 1 for check in checks),
        official=_count_official(checks),
        blank=sum(check.blank == 0 for check in checks),
        constant=tuple(check.id for check in checks if check.constant),
        unsteady=tuple(check.id for check in checks if check.unsteady),
        floors=_mean_floors([check.floors for check in checks if check.floors]),
        flawed=tuple(check for check in checks if check.flaws),
        malformed=tuple(malformed),
    )


def _count_official(checks: Sequence[TaskCheck]) -> int | None:
    if all(check.official is None for check in checks):
        return None
    return sum(check.official == 1 for check in checks)


def _mean_floors(floors: Sequence[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    return {
        name: {
            metric: sum(each[name][metric] for each in floors) / len(floors)
            for metric in floors[0][name]
        }
        for name in (floors[0] if floors else ())
    }


def _write_sound(
    file: Path, shown: str, tasks: Sequence[Task], checks: Sequence[TaskCheck]
) -> None:
    """Write the tasks that can be scored to `file`, which later moves to the path `shown`.

    Raises UserError if no task can be scored.
    """
    from colbench.numbers import count

    sound = [task for task, check in zip(tasks, checks, strict=True) if check.sound]
    if not sound:
        raise UserError(f"--exclude {shown}: no task remains, so nothing was written")
    file.write_bytes(b"".join(encode_lines(sound)))
    print(f"{shown}: {len(sound)} of {count(len(tasks), 'task')}", file=sys.stderr)


def _print_json(found: Summary) -> None:
    sys.stdout.write(msgspec.json.encode(found).decode() + "\n")


def _print(found: Summary, checks: Sequence[TaskCheck]) -> None:
    from colbench.console import console
    from colbench.numbers import count

    out = console()
    for row in found.malformed:
        out.print(row, highlight=False, markup=False, soft_wrap=True)
    for name, remark in _remarks(found):
        place = f"{found.source}, line {found.lines[name]}: " if found.lines else ""
        out.print(f"{place}{name}: {remark}", highlight=False, markup=False, soft_wrap=True)
    rest = f", {count(len(found.malformed), 'malformed row')}" if found.malformed else ""
    out.print(f"{found.source}: {count(found.tasks, 'task')}{rest}", highlight=False, markup=False)
    for label, number, of in _totals(found, checks):
        out.print(f"  {label:<44}{number:>6} of {of}", highlight=False)
    if found.floors:
        out.print(_floor_table(found.floors))


def _remarks(found: Summary) -> Iterator[tuple[str, str]]:
    """Yield each remark about a single task, with the task's id."""
    for check in found.flawed:
        yield from ((check.id, flaw) for flaw in check.flaws)
    for name, other in found.repeated.items():
        yield name, f"duplicate of {other}"
    for name, facts in found.unmatched.items():
        listed = ", ".join(facts)
        yield name, f"no question can match {listed}; add topics or examples with English words"


def _totals(found: Summary, checks: Sequence[TaskCheck]) -> Iterator[tuple[str, int, int]]:
    """Yield, for each total, a label, the number of tasks with that label, and the number of tasks examined."""
    yield "references that score 1", found.default, found.tasks
    if found.official is not None:
        yield "references that score 1 in official mode", found.official, found.tasks
    yield "tasks on which an empty answer scores 0", found.blank, found.tasks
    if repeated := sum(check.unsteady is not None for check in checks):
        yield "references with the same result twice", repeated - len(found.unsteady), repeated
    if compared := sum(check.constant is not None for check in checks):
        yield "tasks whose calls all return the same value", len(found.constant), compared
    if found.repeated:
        yield "tasks that are the same as an earlier one", len(found.repeated), found.tasks


def _floor_table(floors: dict[str, dict[str, float]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    metrics = list(dict.fromkeys(metric for each in floors.values() for metric in each))
    table = Table(box=None, pad_edge=False, title="floors", title_justify="left")
    for column in ("page", *metrics):
        table.add_column(Text(column), justify="left" if column == "page" else "right")
    for name, measured in floors.items():
        shown = (f"{measured[metric]:.3f}" if metric in measured else "-" for metric in metrics)
        table.add_row(Text(name), *shown)
    return table
