"""The pages of "A against B": a page to choose two entries and, for each entry, a comparison with all other entries.

A table shows the comparisons; below it are the tasks on which two entries differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from colbench.stats import ROUNDING
from colbench.stats.comparison import EPSILON, TIE_RULE
from colbench_leaderboard.board.comparison import Comparison
from colbench_leaderboard.board.model import Board, Row
from colbench_leaderboard.board.results import Results
from colbench_leaderboard.site.boards import board_page, board_trail, board_view
from colbench_leaderboard.site.layout import Page
from colbench_leaderboard.site.slugs import dialogue_link, digest_slug, entry_folder, task_slug

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST, LEAST = 1000, 5
"""Numbers of tasks: `MOST` on a page, divided equally among the opponents, but at least `LEAST` for each opponent."""


class Task(NamedTuple):
    """A task on which two entries have different results, and the values of both entries."""

    place: int
    """Index among the tasks of the board, from 0."""
    mine: float
    theirs: float


class Diff(NamedTuple):
    """The tasks on which two entries differ."""

    tasks: Sequence[Task]
    """The tasks, those with the largest differences first; on a large board, only the first of these tasks."""
    total: int


class DiffLine(NamedTuple):
    """A task on which two entries differ, as a line of a list."""

    task_id: str
    slug: str
    mine: float
    my_dialogue: str
    """URL, relative to the site's root, of the first dialogue of the page's own entry on the task."""
    theirs: float
    their_dialogue: str


class Opponent(Struct, frozen=True, kw_only=True):
    """Another entry, and its comparison with the page's own entry."""

    row: Row
    found: Comparison
    verdict: str
    diff: Sequence[DiffLine]
    differing: int
    """Number of tasks with different results."""


def choice(board: Board, rows: Sequence[Row]) -> Page:
    """Return the page on which to choose two entries."""
    return board_page(board, "compare", "A against B", entries=rows)


def page(
    board: Board,
    row: Row,
    comparisons: Sequence[Comparison],
    rows: Mapping[str, Row],
    results: Results,
) -> Page:
    """Return the page that compares one entry with every other entry; `rows` has all entries by digest."""
    view = board_view(board)
    diffs = differing(results, row.bundle, [each.theirs for each in comparisons])
    opponents = [
        _opponent(row, rows[each.theirs], each, diffs[each.theirs], results.tasks)
        for each in comparisons
    ]
    return Page(
        path=f"{view.folder}/against/{digest_slug(row.bundle)}.html",
        template="against",
        title=f"{row.name} against the others",
        trail=(*board_trail(view), (f"{view.folder}/compare.html", "A against B")),
        data={"board": view, "row": row, "opponents": opponents, "tie_rule": TIE_RULE},
    )


def differing(results: Results, mine: str, others: Sequence[str]) -> dict[str, Diff]:
    """Return, for each entry in `others`, the tasks on which it differs most from `mine`, and how many tasks differ."""
    most = max(LEAST, MOST // max(1, len(others)))
    own = results.values(mine).mean(axis=1)
    return {other: _diff(own, results.values(other).mean(axis=1), most) for other in others}


def _diff(mine: Floats, theirs: Floats, most: int) -> Diff:
    import numpy as np

    apart = np.abs(mine - theirs)
    order = np.argsort(-apart, kind="stable")
    total = int((apart > EPSILON + ROUNDING).sum())
    first = order[: min(total, most)]
    rows = zip(first.tolist(), mine[first].tolist(), theirs[first].tolist(), strict=True)
    return Diff([Task(*row) for row in rows], total)


def _opponent(
    row: Row, other: Row, found: Comparison, diff: Diff, names: Sequence[str]
) -> Opponent:
    lines = [
        DiffLine(
            task_id=names[task.place],
            slug=task_slug(names[task.place]),
            mine=task.mine,
            my_dialogue=_dialogue(row, task.place, names),
            theirs=task.theirs,
            their_dialogue=_dialogue(other, task.place, names),
        )
        for task in diff.tasks
    ]
    verdict = found.words.partition(":")[0]
    return Opponent(row=other, found=found, verdict=verdict, diff=lines, differing=diff.total)


def _dialogue(row: Row, place: int, names: Sequence[str]) -> str:
    """Return the URL, relative to the site's root, of an entry's first dialogue on the task with the index `place`."""
    return f"{entry_folder(row.bundle)}/{dialogue_link(place * row.trials, names[place], 0)}"
