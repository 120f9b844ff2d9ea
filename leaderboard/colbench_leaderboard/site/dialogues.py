"""The dialogues of an entry: some to a page, each with its answer beside the reference, and a page that lists them.

A page works without a script, as a column; with it one dialogue is shown at a time, that of the address. What a
dialogue is made of is written out and not built of elements, as a site has hundreds of thousands; all that somebody
else wrote goes through `escape` or `said`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from msgspec import Struct

from colbench.messages import ANSWER_MARKER, PUBLIC_MARKER
from colbench.numbers import NOTHING, count
from colbench.report.markup import Safe, element, join
from colbench.rollout import Rollout, Turn
from colbench.task import Task
from colbench_leaderboard.board.model import Board, Row
from colbench_leaderboard.site import tables
from colbench_leaderboard.site.album import Pictures
from colbench_leaderboard.site.boards import folder, title
from colbench_leaderboard.site.entries import entry_folder
from colbench_leaderboard.site.frame import Page
from colbench_leaderboard.site.keys import LEAF, anchor, leaf_name, leaf_of, task_key
from colbench_leaderboard.site.text import VALUES, beginning, cut, link, plain, said, share
from colbench_leaderboard.verify.receipt import CellScore

FOLDED = 2000
"""Characters of a message from which only its beginning is open, such as those of a page."""
BEGINNING = 200
REQUEST = 120
"""Characters of a request in the list."""
LEGEND = (
    "Difference: blue-green is on the target only, red on the render only, violet has another colour; "
    "grey is the same."
)
LACKING = {
    "Answer": "There is no answer.",
    "Reference": "The reference of this task is not at hand here.",
}
NONE, PERMALINK = Safe(), Safe("permalink")
MISSING = "The bundle has no transcript of this dialogue; it counts 0."


class Cell(Struct, frozen=True, kw_only=True):
    """A dialogue and what it is worth."""

    rollout: Rollout | None
    """None: the bundle has none."""
    score: CellScore


def leaves(
    row: Row,
    board: Board,
    cells: Iterator[Cell],
    tasks: Mapping[str, Task],
    pictures: Pictures | None,
) -> Iterator[Page]:
    """The pages of an entry's dialogues, which come in the order of its scores."""
    total = board.tasks * row.trials
    for number, leaf in enumerate(_batches(cells), start=1):
        shown = [_dialogue(cell, board, tasks, pictures) for cell in leaf]
        first = (number - 1) * LEAF + 1
        words = f"{first:,} to {first + len(leaf) - 1:,} of {count(total, 'dialogue')}"
        heading = element("h1", "Dialogues of ", said(row.name))
        yield Page(
            path=f"{entry_folder(row.bundle)}/{leaf_name(number)}",
            title=f"Dialogues {first}–{first + len(leaf) - 1} of {plain(row.name)}",
            trail=_trail(row, board, listed=True),
            content=[heading, element("p", words, class_="lead"), *shown],
            reader=True,
            previous=leaf_name(number - 1) if number > 1 else "",
            next=leaf_name(number + 1) if number * LEAF < total else "",
        )


def _batches(cells: Iterator[Cell]) -> Iterator[list[Cell]]:
    leaf: list[Cell] = []
    for cell in cells:
        leaf.append(cell)
        if len(leaf) == LEAF:
            yield leaf
            leaf = []
    if leaf:
        yield leaf


def _trail(row: Row, board: Board, *, listed: bool) -> Sequence[tuple[str, str]]:
    here = entry_folder(row.bundle)
    above = ((f"{folder(board)}/index.html", title(board)), (f"{here}/index.html", plain(row.name)))
    return (*above, (f"{here}/dialogues.html", "Dialogues")) if listed else above


def listing(
    row: Row, board: Board, scores: Sequence[CellScore], requests: Mapping[str, str]
) -> Page:
    """All dialogues of an entry in a table. `requests`: of the tasks, by id."""
    several = row.trials > 1
    rows = (_line(score, place, several, requests) for place, score in enumerate(scores))
    heads = (
        tables.head("Task"),
        *([tables.head("Trial", number=True, low=True)] if several else []),
        tables.head(f"{VALUES[board.domain]}, %", number=True),
        tables.head("Turns", number=True, low=True),
        tables.head("Human words", number=True, low=True),
        tables.head("Ended"),
    )
    caption = f"{count(len(scores), 'dialogue')}; a missing or failed one counts 0"
    table = tables.table(caption, heads, rows, label="Dialogues", id_="dialogues")
    return Page(
        path=f"{entry_folder(row.bundle)}/dialogues.html",
        title=f"Dialogues of {plain(row.name)}",
        trail=_trail(row, board, listed=False),
        content=[
            element("h1", "Dialogues of ", said(row.name)),
            tables.filter_box("dialogues", "Find a task"),
            table,
        ],
    )


def _line(score: CellScore, place: int, several: bool, requests: Mapping[str, str]) -> Safe:
    address = f"{leaf_of(place)}#{anchor(score.task_id, score.trial)}"
    request = escape(beginning(requests.get(score.task_id, ""), REQUEST))
    return tables.row(
        tables.name(
            link(said(score.task_id), address), Safe(f'<small class="clamp">{request}</small>')
        ),
        *([tables.number(str(score.trial + 1), score.trial + 1)] if several else []),
        tables.number(share(score.value), score.value),
        tables.number(str(score.turns), score.turns),
        tables.number(str(score.human_words), score.human_words),
        tables.cell(plain(score.failure) or ("answered" if score.answered else "turn limit")),
    )


def _dialogue(
    cell: Cell, board: Board, tasks: Mapping[str, Task], pictures: Pictures | None
) -> Safe:
    score = cell.score
    mark = anchor(score.task_id, score.trial)
    page = f"../../{folder(board)}/tasks/{task_key(score.task_id)}.html"
    trial = f", trial {score.trial + 1}" if score.trial else ""
    whole = _whole(cell.rollout, tasks, pictures) if cell.rollout else element("p", MISSING)
    return Safe(
        f'<article class="dialogue" id="{mark}">'
        f'<h2 tabindex="-1">{link(said(score.task_id), page)}{trial}</h2>'
        f'<p class="verdict">{escape(_verdict(score, board))} · {link(PERMALINK, f"#{mark}")}</p>'
        f"{whole}</article>"
    )


def _whole(rollout: Rollout, tasks: Mapping[str, Task], pictures: Pictures | None) -> Safe:
    task = tasks.get(rollout.task_hash)
    renders = _renders(rollout, task, pictures)
    answer = _text("Answer", rollout.answer)
    reference = _text("Reference", task.hidden.reference if task else None)
    return Safe(
        f'{renders}<ol class="talk">{"".join(_talk(rollout))}</ol>'
        f'<div class="beside">{answer}{reference}</div>'
    )


def _verdict(score: CellScore, board: Board) -> str:
    worth = f"{VALUES[board.domain].lower()} {share(score.value)} %"
    if score.success is not None:
        worth = f"{'solved' if score.success else 'not solved'}, {worth}"
    parts = [worth, count(score.turns, "turn"), count(score.human_words, "word") + " of the human"]
    if not score.answered:
        parts.append(
            "ended by the limit" if not score.failure else f"failed: {plain(score.failure)}"
        )
    return " · ".join([parts[0][:1].upper() + parts[0][1:], *parts[1:]])


def _talk(rollout: Rollout) -> Iterator[Safe]:
    yield _message("human", "Human", rollout.request)
    for turn in rollout.turns:
        yield _reply(turn)
        if turn.human is not None:
            yield _message("human", "Human", turn.human)
    if rollout.failure:
        yield _message("human", "Failed", f"{rollout.failure.boundary}: {rollout.failure.reason}")


def _reply(turn: Turn) -> Safe:
    """A reply of the agent; where it answers, the answer stands below."""
    private = turn.raw.partition(PUBLIC_MARKER)[0].strip() if PUBLIC_MARKER in turn.raw else ""
    more = NONE
    if private:
        more = element("details", element("summary", "Private part"), element("pre", cut(private)))
    words = turn.said or ("(the answer, below)" if ANSWER_MARKER in turn.raw else "(nothing)")
    return _message("agent", "Agent", words, more)


def _message(kind: str, who: str, words: str, more: Safe = NONE) -> Safe:
    """What one side said. Written out, as a site has millions of them."""
    if len(words) > FOLDED:
        more = join((_folded(words), more))
        words = f"{words[:BEGINNING]}…"
    return Safe(
        f'<li class="{kind}"><span class="who">{who}</span>'
        f'<div class="said">{escape(cut(words))}</div>{more}</li>'
    )


def _folded(words: str) -> Safe:
    summary = element("summary", f"All {len(words):,} characters")
    return element("details", summary, element("pre", cut(words)))


def _text(name: str, text: str | None) -> Safe:
    if text is None:
        return Safe(f'<section><h3>{name}</h3><p class="note">{LACKING[name]}</p></section>')
    shown = escape(cut(text)) or NOTHING
    return Safe(f'<section><h3>{name}</h3><pre tabindex="0">{shown}</pre></section>')


def _renders(rollout: Rollout, task: Task | None, pictures: Pictures | None) -> Safe:
    """Target, render and difference of a page, where there are pictures."""
    if task is None or pictures is None:
        return Safe()
    shots = pictures.of(task, rollout.answer)
    shown = (
        element(
            "figure",
            element("figcaption", element("h3", name)),
            element(
                "img",
                src=f"../../{shot.file}",
                alt=f"{name} of {plain(rollout.task_id)}",
                width=shot.width,
                height=shot.height,
                loading="lazy",
                decoding="async",
            ),
        )
        for name, shot in shots
    )
    if not shots:
        return NONE
    return join((element("div", *shown, class_="trio"), element("p", LEGEND, class_="note legend")))
