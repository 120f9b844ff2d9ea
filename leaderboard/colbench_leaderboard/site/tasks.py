"""The list of a board's tasks, and a page for each task with the entries' results and the reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from colbench.task import Task
from colbench_leaderboard.board.model import Board, Row
from colbench_leaderboard.site.boards import board_page, board_trail, board_view
from colbench_leaderboard.site.layout import Page
from colbench_leaderboard.site.slugs import dialogue_link, entry_folder, task_slug
from colbench_leaderboard.verify.receipt import CellScore


class Attempt(Struct, frozen=True, kw_only=True):
    """An entry's trials of one task."""

    row: Row
    scores: Sequence[CellScore]
    place: int
    """Position of the first trial among the entry's dialogues, from 0."""

    @property
    def value(self) -> float:
        """The mean score over the trials."""
        return sum(score.value for score in self.scores) / len(self.scores)

    @property
    def solved(self) -> int:
        """Number of successful trials."""
        return sum(bool(score.success) for score in self.scores)


Attempts = Mapping[str, Sequence[Attempt]]
"""The entries' attempts at each task, by task ID; the attempts have the order of `Board.everyone`."""


class TaskLine(NamedTuple):
    """A task in the list of all tasks."""

    task_id: str
    slug: str
    request: str
    value: float | None
    """Mean score over the ranked entries; None if no entry is ranked."""
    solved: int
    """Number of ranked entries that solved the task in at least one trial."""
    turns: float | None


class Result(NamedTuple):
    """An entry's result on a task."""

    row: Row
    value: float
    solved: int
    turns: float
    words: float
    dialogues: Sequence[tuple[str, str]]
    """Name of each dialogue, and its URL relative to the site's root."""


def attempts(scores: Sequence[tuple[Row, Sequence[CellScore]]]) -> dict[str, list[Attempt]]:
    """Return the attempts of all entries by task ID; each entry's scores must be sorted by task."""
    found: dict[str, list[Attempt]] = {}
    for row, cells in scores:
        start = 0
        while start < len(cells):
            end = start
            while end < len(cells) and cells[end].task_id == cells[start].task_id:
                end += 1
            attempt = Attempt(row=row, scores=cells[start:end], place=start)
            found.setdefault(cells[start].task_id, []).append(attempt)
            start = end
    return found


def listing(board: Board, found: Attempts, requests: Mapping[str, str]) -> Page:
    """Return the page that lists all tasks of a board; `requests` maps task IDs to requests."""
    lines = [_line(task, each, requests.get(task, "")) for task, each in found.items()]
    return board_page(board, "tasks", "Tasks", lines=lines, ranked=len(board.rows))


def pages(
    board: Board, found: Attempts, requests: Mapping[str, str], tasks: Mapping[str, Task]
) -> Iterator[Page]:
    """Yield a page for each task; `tasks` contains, by ID, the tasks whose reference is shown."""
    view = board_view(board)
    trail = (*board_trail(view), (f"{view.folder}/tasks.html", "Tasks"))
    for task_id, each in found.items():
        task = tasks.get(task_id)
        yield Page(
            path=f"{view.folder}/tasks/{task_slug(task_id)}.html",
            template="task",
            title=f"Task {task_id}",
            trail=trail,
            data={
                "board": view,
                "task_id": task_id,
                "request": requests.get(task_id, ""),
                "reference": task.hidden.reference if task else None,
                "tests": len(task.hidden.tests) if task else 0,
                "facts": [f.statement for f in task.hidden.facts if not f.stated] if task else [],
                "results": [_result(task_id, attempt) for attempt in each],
            },
        )


def _line(task_id: str, found: Sequence[Attempt], request: str) -> TaskLine:
    ranked = [each for each in found if each.row.rank]
    turns = [score.turns for each in ranked for score in each.scores]
    return TaskLine(
        task_id=task_id,
        slug=task_slug(task_id),
        request=request,
        value=sum(each.value for each in ranked) / len(ranked) if ranked else None,
        solved=sum(each.solved > 0 for each in ranked),
        turns=sum(turns) / len(turns) if turns else None,
    )


def _result(task_id: str, found: Attempt) -> Result:
    trials = len(found.scores)
    return Result(
        row=found.row,
        value=found.value,
        solved=found.solved,
        turns=sum(score.turns for score in found.scores) / trials,
        words=sum(score.human_words for score in found.scores) / trials,
        dialogues=[_dialogue(task_id, found, n) for n in range(trials)],
    )


def _dialogue(task_id: str, found: Attempt, number: int) -> tuple[str, str]:
    trial = found.scores[number].trial
    name = f"trial {trial + 1}" if len(found.scores) > 1 else "read"
    link = dialogue_link(found.place + number, task_id, trial)
    return name, f"{entry_folder(found.row.bundle)}/{link}"
