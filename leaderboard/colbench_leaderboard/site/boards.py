"""The pages of a board: the ranking with its reference lines, and the downloads."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from colbench.numbers import amount, bare_percent, count, dollars
from colbench.registry import get_domain
from colbench.stats import Estimate
from colbench_leaderboard.board.model import Board, Row
from colbench_leaderboard.site.layout import Page, Trail
from colbench_leaderboard.site.slugs import board_folder
from colbench_leaderboard.site.text import TRACKS

FILTERED = 8
"""Number of entries above which the ranking has a box to filter them."""
HASH_DIGITS = 8
"""Number of digits of the tasks' hash in a board's title."""
FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""Characters that start a formula in a spreadsheet, including their full-width forms."""
SHARES = ("ask_precision", "ask_recall", "ask_f1")
ESTIMATES = ("value", "success", "turns", "agent_words", "human_words", *SHARES)
NUMBERS = ("answered", "undisclosed", "tokens", "cost")


class BoardView(Struct, frozen=True, kw_only=True):
    """The data of a board that all of its pages need."""

    title: str
    """Unique title, such as `Standard · Backend programming · 1,000 tasks (1a2b3c4d)`.

    In parentheses are the first digits of the hash of the tasks. In the open track, the setting follows.
    """
    folder: str
    """Path from the root of the site."""
    value: str
    """Label of the metric that determines the rank, in lower case."""
    success: str
    """Label of the success metric; empty if the domain has none."""
    tasks: int
    source: str
    tasks_hash: str
    setting: str


def board_view(board: Board) -> BoardView:
    """Return the data that every page of a board shows, in the words of its domain."""
    domain = get_domain(board.domain)
    tasks = f"{count(board.tasks, 'task')} ({board.tasks_hash[:HASH_DIGITS]})"
    own_setting = [board.setting] if board.track == "open" else []
    return BoardView(
        title=" · ".join([TRACKS[board.track], domain.title, tasks, *own_setting]),
        folder=board_folder(board.key),
        value=domain.primary.label,
        success=domain.success.label if domain.success else "",
        tasks=board.tasks,
        source=board.source,
        tasks_hash=board.tasks_hash,
        setting=board.setting,
    )


def board_trail(view: BoardView) -> Trail:
    """Return the breadcrumbs of a page below a board."""
    return ((f"{view.folder}/index.html", view.title),)


def board_page(board: Board, name: str, title: str, **data: object) -> Page:
    """Return one of the pages to which a board's tabs link.

    `name`: the name of the page's file and of its template, except that the page `index` has the template `ranking`.
    `title`: the page's own title, which precedes the board's title; "" to show only the board's title. `data`: further
    values for the template.
    """
    view = board_view(board)
    return Page(
        path=f"{view.folder}/{name}.html",
        template="ranking" if name == "index" else name,
        title=f"{title}: {view.title}" if title else view.title,
        data={"board": view, "here": f"{name}.html", **data},
    )


class Number(NamedTuple):
    """A number in a table."""

    shown: str
    value: float | None
    """The value for sorting."""


class Line(Struct, frozen=True, kw_only=True):
    """A line of the ranking."""

    row: Row
    marks: tuple[str, ...]
    """Labels to show next to the entry's name; see `disclosures`."""
    pass_k: float | None
    """Pass^k, where k is the largest number of trials on the board; None if the entry has no such value."""
    numbers: Sequence[Number]
    """A number for each of the `COLUMNS` that the board shows."""


class _Column(NamedTuple):
    """A column of numbers; the ranking shows the column if any row has a number in it."""

    name: str
    field: str
    low: bool
    """True if less is better."""


COLUMNS = (
    _Column("Ask F1, %", "ask_f1", False),
    _Column("Turns", "turns", True),
    _Column("Human words", "human_words", True),
    _Column("Answered, %", "answered", False),
    _Column("Undisclosed, %", "undisclosed", True),
    _Column("Tokens, reported", "tokens", True),
    _Column("Cost, reported", "cost", True),
)


def ranking(board: Board) -> Page:
    """Return the board's front page."""
    columns = [each for each in COLUMNS if any(_known(row, each.field) for row in board.everyone)]
    trials = max((len(row.pass_k) for row in board.everyone), default=0)

    def line(row: Row) -> Line:
        return Line(
            row=row,
            marks=disclosures(row),
            pass_k=row.pass_k[trials - 1] if len(row.pass_k) >= trials > 0 else None,
            numbers=[_number(row, each.field) for each in columns],
        )

    return board_page(
        board,
        "index",
        "",
        ranked=[line(row) for row in board.rows],
        flagged=board.flagged,
        lines=[line(row) for row in board.lines],
        ceiling=board.ceiling,
        columns=columns,
        trials=trials,
        filtered=len(board.rows) > FILTERED,
        least=board.least_detectable,
        undisclosed=any(_known(row, "undisclosed") for row in board.everyone),
    )


def disclosures(row: Row) -> tuple[str, ...]:
    """Return the labels that must be shown next to an entry's name."""
    known = {
        "trained on ColBench": row.trained_on_colbench,
        "the maintainers’ run": bool(row.reruns),
        "human in the loop": row.human_in_the_loop,
    }
    return tuple(words for words, applies in known.items() if applies)


def _known(row: Row, field: str) -> bool:
    return getattr(row, field) is not None


def _number(row: Row, field: str) -> Number:
    found = getattr(row, field)
    value = found.mean if isinstance(found, Estimate) else found
    if value is None:
        return Number(amount(None), None)
    if field in ("answered", "undisclosed", *SHARES):
        return Number(bare_percent(value), value)
    if field == "cost":
        return Number(dollars(value), value)
    return Number(amount(value, 0 if field == "tokens" else 1), value)


def as_json(board: Board) -> bytes:
    """Return a board with all of its rows as JSON."""
    return msgspec.json.format(msgspec.json.encode(board), indent=1) + b"\n"


def as_csv(board: Board) -> str:
    """Return a line for each row of the board, as CSV; the column `place` of unranked rows is empty."""
    rows = [_cells(row) for row in board.everyone]
    names = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, names or ["bundle"], lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows({key: _harmless(value) for key, value in row.items()} for row in rows)
    return out.getvalue()


def _cells(row: Row) -> dict[str, object]:
    cells: dict[str, object] = {
        "place": row.rank.place if row.rank else "",
        "place_low": row.rank.low if row.rank else "",
        "place_high": row.rank.high if row.rank else "",
        "name": row.name,
        "organization": row.organization,
        "bundle": row.bundle,
        "level": row.level,
        "flags": " ".join(row.flags),
        "pending": " ".join(dict.fromkeys(flag.rule for flag in row.pending)),
        "date": row.date,
        "trials": row.trials,
        "agent_process": row.agent_process,
    }
    for name in ESTIMATES:
        cells |= _estimate(name, getattr(row, name))
    cells |= {name: getattr(row, name) for name in NUMBERS}
    cells |= {f"pass_{k}": value for k, value in enumerate(row.pass_k, start=1)}
    return cells | {f"by_turn_{n}": value for n, value in enumerate(row.success_by_turn, start=1)}


def _estimate(name: str, value: Estimate | None) -> Iterator[tuple[str, object]]:
    for part in ("mean", "low", "high"):
        key = name if part == "mean" else f"{name}_{part}"
        yield key, "" if value is None else getattr(value, part)


def _harmless(value: object) -> object:
    """Return a value in a form that no spreadsheet interprets as a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
