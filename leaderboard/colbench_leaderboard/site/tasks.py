"""The tasks of a board: how each was solved, by whom, and its reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from colbench.numbers import count
from colbench.report.markup import Safe, element, join
from colbench.task import Task
from colbench_leaderboard.board.model import Board, Row
from colbench_leaderboard.site import tables
from colbench_leaderboard.site.boards import entry_address, folder, opening, title
from colbench_leaderboard.site.entries import entry_folder
from colbench_leaderboard.site.frame import Page
from colbench_leaderboard.site.keys import anchor, leaf_of, task_key
from colbench_leaderboard.site.text import VALUES, amount, beginning, cut, link, plain, said, share
from colbench_leaderboard.verify.receipt import CellScore

REQUEST = 160
"""Characters of a request in the list."""


class Result(Struct, frozen=True, kw_only=True):
    """What an entry made of one task."""

    row: Row
    scores: Sequence[CellScore]
    """Of the trials."""
    place: int
    """Of the first of them among the entry's dialogues, from 0."""

    @property
    def value(self) -> float:
        """The mean over the trials."""
        return sum(score.value for score in self.scores) / len(self.scores)

    @property
    def solved(self) -> int:
        """Trials that succeeded."""
        return sum(bool(score.success) for score in self.scores)


Results = Mapping[str, Sequence[Result]]
"""By task id, in the order of the board; lines come last."""


def results(scores: Sequence[tuple[Row, Sequence[CellScore]]]) -> dict[str, list[Result]]:
    """The scores of entries, by task."""
    found: dict[str, list[Result]] = {}
    for row, cells in scores:
        start = 0
        while start < len(cells):
            end = start
            while end < len(cells) and cells[end].task_id == cells[start].task_id:
                end += 1
            result = Result(row=row, scores=cells[start:end], place=start)
            found.setdefault(cells[start].task_id, []).append(result)
            start = end
    return found


def listing(board: Board, found: Results, requests: Mapping[str, str]) -> Page:
    """All tasks of a board in a table."""
    heads = [
        tables.head("Task"),
        tables.head(f"Mean {VALUES[board.domain].lower()}, %", number=True),
    ]
    if board.domain == "backend":
        heads.append(tables.head("Solved by", number=True))
    heads.append(tables.head("Mean turns", number=True, low=True))
    rows = (_line(board, task, each, requests.get(task, "")) for task, each in found.items())
    caption = "Over the ranked entries; lines to compare with do not count. “Solved by”: in at least one trial."
    return Page(
        path=f"{folder(board)}/tasks.html",
        title=f"Tasks: {title(board)}",
        content=[
            opening(board, "tasks.html"),
            tables.filter_box("tasks", "Find a task"),
            tables.table(caption, heads, rows, label="Tasks", id_="tasks"),
        ],
    )


def _line(board: Board, task: str, found: Sequence[Result], request: str) -> Safe:
    ranked = [each for each in found if each.row.rank]
    value = sum(each.value for each in ranked) / len(ranked) if ranked else None
    turns = [score.turns for each in ranked for score in each.scores]
    mean = sum(turns) / len(turns) if turns else None
    name = link(said(task), f"tasks/{task_key(task)}.html")
    words = [element("small", beginning(request, REQUEST), class_="clamp")] if request else []
    solved = sum(each.solved > 0 for each in ranked)
    return tables.row(
        tables.name(name, *words),
        tables.number(share(value), value),
        *(
            [tables.number(f"{solved} of {len(ranked)}", solved)]
            if board.domain == "backend"
            else []
        ),
        tables.number(amount(mean), mean),
    )


def pages(
    board: Board, found: Results, requests: Mapping[str, str], tasks: Mapping[str, Task]
) -> Iterator[Page]:
    """A page for each task. `tasks`: those that are at hand, by id."""
    for task, each in found.items():
        yield Page(
            path=f"{folder(board)}/tasks/{task_key(task)}.html",
            title=f"Task {plain(task)}",
            trail=(
                (f"{folder(board)}/index.html", title(board)),
                (f"{folder(board)}/tasks.html", "Tasks"),
            ),
            content=[
                element("h1", said(task)),
                element(
                    "div",
                    *_request(requests.get(task, "")),
                    *_hidden(tasks.get(task)),
                    class_="beside",
                ),
                _table(board, task, each),
            ],
        )


def _request(request: str) -> Iterator[Safe]:
    if request:
        yield element("section", element("h2", "Request"), element("pre", cut(request), tabindex=0))


def _hidden(task: Task | None) -> Iterator[Safe]:
    """What the human knows and the agent does not."""
    if task is None:
        return
    code = element("pre", cut(task.hidden.reference), tabindex=0)
    yield element("section", element("h2", "Reference"), code, *_tests(task))
    facts = [fact.statement for fact in task.hidden.facts if not fact.stated]
    if facts:
        listed = element("ul", *(element("li", plain(fact)) for fact in facts), class_="prose")
        yield element("section", element("h2", "Hidden facts"), listed, class_="prose")


def _tests(task: Task) -> Iterator[Safe]:
    if task.hidden.tests:
        words = f"{count(len(task.hidden.tests), 'hidden test')} compare it with an answer."
        yield element("p", words, class_="note")


def _table(board: Board, task: str, found: Sequence[Result]) -> Safe:
    heads = [tables.head("Entry"), tables.head(f"{VALUES[board.domain]}, %", number=True)]
    if board.domain == "backend":
        heads.append(tables.head("Solved", number=True))
    heads += [
        tables.head("Turns", number=True, low=True),
        tables.head("Human words", number=True, low=True),
        tables.head("Dialogues", fixed=True),
    ]
    rows = [_result(board, task, each) for each in found]
    table = tables.table("Every entry of the board", heads, rows, label="Results", id_="results")
    return join((element("h2", "Results"), table))


def _result(board: Board, task: str, found: Result) -> Safe:
    trials = len(found.scores)
    turns = sum(score.turns for score in found.scores) / trials
    words = sum(score.human_words for score in found.scores) / trials
    value = found.value
    name = link(said(found.row.name), f"../../../{entry_address(found.row.bundle)}")
    return tables.row(
        tables.name(name),
        tables.number(share(value), value),
        *(
            [tables.number(f"{found.solved} of {trials}", found.solved / trials)]
            if board.domain == "backend"
            else []
        ),
        tables.number(amount(turns), turns),
        tables.number(amount(words), words),
        tables.cell(join(_links(task, found))),
        class_=None if found.row.rank else "line",
    )


def _links(task: str, found: Result) -> Iterator[Safe]:
    here = f"../../../{entry_folder(found.row.bundle)}"
    for place, score in enumerate(found.scores, start=found.place):
        name = f"trial {score.trial + 1}" if len(found.scores) > 1 else "read"
        yield link(Safe(name), f"{here}/{leaf_of(place)}#{anchor(task, score.trial)}")
        yield Safe(" ")
