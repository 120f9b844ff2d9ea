"""The tasks on which one entry and another differ, the largest differences first; each leads to both dialogues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from colbench.numbers import count
from colbench.report.baseline import EPSILON
from colbench.report.markup import Safe, element, join
from colbench.stats import ROUNDING
from colbench_leaderboard.board.model import Row
from colbench_leaderboard.board.results import Results
from colbench_leaderboard.site import tables
from colbench_leaderboard.site.keys import anchor, leaf_of, task_key
from colbench_leaderboard.site.text import plain, said, share, short, signed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST, LEAST = 1000, 5
"""Tasks that a page lists over all others, so that it stays light on a large board, and of each other at least."""
READING = (
    "The largest differences first; the numbers lead to the dialogues, and the tasks to all trials. On a large board "
    "only the first are listed; scores.jsonl of the entries has all."
)


class Task(NamedTuple):
    """A task, and what each made of it."""

    place: int
    """Among the tasks of the board, from 0."""
    mine: float
    theirs: float


class Differing(NamedTuple):
    """Where two entries differ."""

    tasks: Sequence[Task]
    """The first of them."""
    total: int


def differing(results: Results, mine: str, others: Sequence[str]) -> dict[str, Differing]:
    """Where an entry differs from each of these by more than a tie, in the mean over the trials."""
    most = max(LEAST, MOST // max(1, len(others)))
    own = results.values(mine).mean(axis=1)
    return {other: _differing(own, results.values(other).mean(axis=1), most) for other in others}


def _differing(mine: Floats, theirs: Floats, most: int) -> Differing:
    import numpy as np

    apart = np.abs(mine - theirs)
    order = np.argsort(-apart, kind="stable")
    differ = int((apart > EPSILON + ROUNDING).sum())
    first = order[: min(differ, most)]
    rows = zip(first.tolist(), mine[first].tolist(), theirs[first].tolist(), strict=True)
    return Differing([Task(*row) for row in rows], differ)


def mark(bundle: str) -> str:
    """Where on the page the tasks are on which an entry differs from this one."""
    return f"t-{short(bundle)}"


def lists(
    row: Row, found: Mapping[str, Differing], rows: Mapping[str, Row], names: Sequence[str]
) -> Iterator[Safe]:
    """The lists, one for each other entry. `rows`: by digest; `names`: the ids of the tasks of the board."""
    if any(each.total for each in found.values()):
        yield element("h2", "The tasks on which they differ", id="tasks")
        yield element("p", READING, class_="note prose")
    for other, each in found.items():
        if each.total:
            yield _list(row, rows[other], each, names)


def _list(row: Row, other: Row, found: Differing, names: Sequence[str]) -> Safe:
    heads = (
        tables.head("Task"),
        tables.head(f"{plain(row.name)}, %", number=True),
        tables.head(f"{plain(other.name)}, %", number=True),
        tables.head("Points", number=True),
    )
    part = f"{len(found.tasks):,} of " if len(found.tasks) < found.total else ""
    words = f"{part}{count(found.total, 'task')}"
    differences = f"Differences from {plain(other.name)}"
    table = tables.table(
        differences,
        heads,
        (_line(row, other, task, names[task.place]) for task in found.tasks),
        label=differences,
        id_=mark(other.bundle),
        sortable=False,
    )
    return element("details", element("summary", join((said(other.name), f": {words}"))), table)


def _line(row: Row, other: Row, task: Task, name: str) -> Safe:
    """A task. Written out, as a site has hundreds of thousands."""
    return Safe(
        f'<tr><th scope="row" class="name"><a href="../tasks/{task_key(name)}.html">{said(name)}</a></th>'
        f'<td class="n">{_dialogue(row, task.place, name, task.mine)}</td>'
        f'<td class="n">{_dialogue(other, task.place, name, task.theirs)}</td>'
        f'<td class="n">{signed(task.mine - task.theirs)}</td></tr>'
    )


def _dialogue(row: Row, place: int, name: str, value: float) -> str:
    """A value that leads to the first of the task's dialogues."""
    page = leaf_of(place * row.trials)
    address = f"../../../entries/{short(row.bundle)}/{page}#{anchor(name, 0)}"
    return f'<a href="{address}">{share(value)}</a>'
