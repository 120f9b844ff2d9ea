"""The pages of an entry's dialogues, and a list of all dialogues.

A page has several dialogues, each with its answer and the reference.

Without JavaScript, a page shows its dialogues in a column. With JavaScript, it shows one dialogue at a time, beginning
with the dialogue that the URL names, or else the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from colbench.messages import ANSWER_MARKER, split_reply
from colbench.numbers import count, percent, sentence
from colbench.presentation import AnswerPictures, Picture
from colbench.rollout import Rollout, Turn
from colbench.task import Task
from colbench_leaderboard.board.model import Board, Row
from colbench_leaderboard.site.boards import BoardView, board_trail, board_view
from colbench_leaderboard.site.layout import Page, Trail
from colbench_leaderboard.site.slugs import (
    LEAF,
    dialogue_anchor,
    dialogue_link,
    entry_folder,
    leaf_name,
    task_slug,
)
from colbench_leaderboard.verify.receipt import CellScore
from colbench_leaderboard.verify.scores import ABSENT

FOLDED = 2000
"""Number of characters above which a message is folded: only its beginning is shown until a reader opens it."""
BEGINNING = 200


class Cell(Struct, frozen=True, kw_only=True):
    """A dialogue and its score."""

    rollout: Rollout | None
    """None if the bundle lacks this dialogue."""
    score: CellScore


class Message(NamedTuple):
    """A message of a dialogue."""

    who: str
    """`Human`, `Agent`, or `Failed` for the note at the end of a failed dialogue."""
    shown: str
    """The text, or its beginning if it is long."""
    folded: str
    """The whole text if it is long, else ""."""
    private: str
    """The agent's text that the human does not see; see `Turn.private`."""


class Dialogue(NamedTuple):
    """A dialogue as shown on a page of the site."""

    anchor: str
    task_id: str
    task_page: str
    """Path of the task's page from the root."""
    trial: int
    verdict: str
    messages: Sequence[Message] | None
    """None if the bundle lacks this dialogue."""
    answer: str | None
    reference: str | None
    """None if the task is not available."""
    pictures: Sequence[Picture]


class Listed(NamedTuple):
    """A dialogue in the list of all dialogues."""

    score: CellScore
    request: str
    link: str


def joined(scores: Sequence[CellScore], rollouts: Iterator[Rollout]) -> Iterator[Cell]:
    """Yield each score with its dialogue, or with None if the bundle lacks the dialogue.

    Both inputs must be sorted by task and trial.
    """
    rollout = next(rollouts, None)
    for score in scores:
        while rollout and (rollout.task_id, rollout.trial) < (score.task_id, score.trial):
            rollout = next(rollouts, None)
        same = rollout and (rollout.task_id, rollout.trial) == (score.task_id, score.trial)
        yield Cell(rollout=rollout if same else None, score=score)


def leaves(
    row: Row,
    board: Board,
    cells: Iterator[Cell],
    tasks: Mapping[str, Task],
    pictures: AnswerPictures | None,
) -> Iterator[Page]:
    """Yield the pages of an entry's dialogues.

    `cells`: the dialogues with their scores, in the order of the scores. `tasks` maps hashes to the tasks whose
    references are shown. `pictures`: the pictures of answers; None if pages show no pictures.
    """
    view, total = board_view(board), board.tasks * row.trials
    here = entry_folder(row.bundle)
    trail = (*_trail(row, view), (f"{here}/dialogues.html", "Dialogues"))
    for number, leaf in enumerate(_batches(cells), start=1):
        first = (number - 1) * LEAF + 1
        last = first + len(leaf) - 1
        yield Page(
            path=f"{here}/{leaf_name(number)}",
            template="dialogues",
            title=f"Dialogues {first}–{last} of {row.name}",
            trail=trail,
            data={
                "board": view,
                "row": row,
                "first": first,
                "last": last,
                "total": total,
                "dialogues": [_dialogue(cell, view, tasks, pictures) for cell in leaf],
                "legend": pictures.legend if pictures else "",
                "previous": leaf_name(number - 1) if number > 1 else "",
                "next": leaf_name(number + 1) if number * LEAF < total else "",
            },
        )


def listing(
    row: Row, board: Board, scores: Sequence[CellScore], requests: Mapping[str, str]
) -> Page:
    """Return the page that lists all dialogues of an entry; `requests` maps task IDs to requests."""
    view = board_view(board)
    listed = [
        Listed(
            score, requests.get(score.task_id, ""), dialogue_link(place, score.task_id, score.trial)
        )
        for place, score in enumerate(scores)
    ]
    return Page(
        path=f"{entry_folder(row.bundle)}/dialogues.html",
        template="dialogue-list",
        title=f"Dialogues of {row.name}",
        trail=_trail(row, view),
        data={"board": view, "row": row, "listed": listed},
    )


def _trail(row: Row, view: BoardView) -> Trail:
    return (*board_trail(view), (f"{entry_folder(row.bundle)}/index.html", row.name))


def _batches(cells: Iterator[Cell]) -> Iterator[list[Cell]]:
    leaf: list[Cell] = []
    for cell in cells:
        leaf.append(cell)
        if len(leaf) == LEAF:
            yield leaf
            leaf = []
    if leaf:
        yield leaf


def _dialogue(
    cell: Cell, view: BoardView, tasks: Mapping[str, Task], pictures: AnswerPictures | None
) -> Dialogue:
    score, rollout = cell.score, cell.rollout
    task = tasks.get(rollout.task_hash) if rollout else None
    return Dialogue(
        anchor=dialogue_anchor(score.task_id, score.trial),
        task_id=score.task_id,
        task_page=f"{view.folder}/tasks/{task_slug(score.task_id)}.html",
        trial=score.trial,
        verdict=_verdict(score, view),
        messages=list(_messages(rollout)) if rollout else None,
        answer=rollout.answer if rollout else None,
        reference=task.hidden.reference if task else None,
        pictures=pictures.of(task, rollout.answer) if pictures and task and rollout else (),
    )


def _verdict(score: CellScore, view: BoardView) -> str:
    value = f"{view.value} {percent(score.value)}"
    if score.success is not None:
        value = f"{'solved' if score.success else 'not solved'}, {value}"
    parts = [
        sentence(value),
        count(score.turns, "turn"),
        f"{count(score.human_words, 'word')} of the human",
    ]
    if score.failure:
        parts.append("missing" if score.failure == ABSENT else f"failed: {score.failure}")
    elif not score.answered:
        parts.append("ended by the turn limit")
    return " · ".join(parts)


def _messages(rollout: Rollout) -> Iterator[Message]:
    yield _message("Human", rollout.request)
    for turn in rollout.turns:
        yield _reply(turn)
        if turn.human is not None:
            yield _message("Human", turn.human)
    if rollout.failure:
        yield _message("Failed", f"{rollout.failure.boundary}: {rollout.failure.reason}")


def _reply(turn: Turn) -> Message:
    """Return a reply of the agent as a message; the answer itself is shown below the dialogue."""
    answers = ANSWER_MARKER in split_reply(turn.raw)[2]
    text = turn.said or ("(the answer, below)" if answers else "(nothing)")
    return _message("Agent", text, turn.private)


def _message(who: str, text: str, private: str = "") -> Message:
    if len(text) > FOLDED:
        return Message(who, f"{text[:BEGINNING]}…", text, private)
    return Message(who, text, "", private)
