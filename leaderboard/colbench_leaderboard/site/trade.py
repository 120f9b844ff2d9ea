"""A board's charts: quality against what it took, and by turn; each with its table."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from colbench.report.markup import Safe, element
from colbench_leaderboard.board.model import Board, Row
from colbench_leaderboard.site import charts, tables
from colbench_leaderboard.site.boards import entry_address, folder, opening, title
from colbench_leaderboard.site.frame import Page
from colbench_leaderboard.site.text import VALUES, amount, dollars, said, share

NAMED = 4
"""Curves of ranked entries that are drawn strong and named."""
MOST_TURNS = 50
"""Turns of the curves and their table: an entry with a thousand must not press the others together."""
EXPENSES: tuple[tuple[str, str, Callable[[Row], float | None]], ...] = (
    ("Turns", "turns a dialogue", lambda row: row.turns.mean),
    ("Human words", "words of the human a dialogue", lambda row: row.human_words.mean),
    ("Cost", "US dollars a dialogue", lambda row: row.cost),
    ("Tokens", "tokens of the agent a dialogue", lambda row: row.tokens),
)


def page(board: Board) -> Page:
    """Quality against expense, and by turn."""
    drawn = [*_pareto(board), *_by_turn(board)]
    return Page(
        path=f"{folder(board)}/charts.html",
        title=f"Charts: {title(board)}",
        content=[
            opening(board, "charts.html"),
            element("div", *drawn, class_="charts"),
        ],
    )


def _pareto(board: Board) -> Iterator[Safe]:
    quality = VALUES[board.domain]
    for name, unit, value in EXPENSES:
        known = [(row, x) for row in (*board.rows, *board.lines) if (x := value(row)) is not None]
        if not known:
            continue
        dots = [_dot(row, x) for row, x in known]
        best = {dot.address for dot in charts.front(dots)}
        heading = f"{quality} against {name.lower()}"
        chart = charts.scatter(heading, unit, dots)
        show = dollars if name == "Cost" else amount
        rows = [
            tables.row(
                tables.name(_link(row)),
                tables.number(share(row.value.mean), row.value.mean),
                tables.number(show(x), x),
                tables.cell("yes" if _address(row) in best else "no"),
            )
            for row, x in known
        ]
        heads = (
            tables.head("Entry"),
            tables.head(f"{quality}, %", number=True),
            tables.head(name, number=True, low=True),
            tables.head("On the front"),
        )
        words = "The line is the front: no ranked entry is better for the same or less."
        lacking = len(board.rows) + len(board.lines) - len(known)
        if lacking:
            words += f" Not known of {lacking}."
        yield _figure(heading, words, chart, tables.table(heading, heads, rows, label=heading))


def _by_turn(board: Board) -> Iterator[Safe]:
    everyone = [row for row in (*board.rows, *board.lines) if row.success_by_turn]
    if not everyone:
        return
    longest = max(len(row.success_by_turn) for row in everyone)
    turns = min(longest, MOST_TURNS)
    curves = [
        charts.Curve(
            name=row.name,
            shares=row.success_by_turn[:turns],
            line=row.rank is None,
            best=row.rank is not None and place < NAMED,
        )
        for place, row in enumerate(everyone)
    ]
    heading = "Success by turn" if board.domain == "backend" else "Cosine by turn"
    heads = (tables.head("Entry"), *(tables.head(str(n), number=True) for n in range(1, turns + 1)))
    rows = [
        tables.row(tables.name(_link(row)), *(tables.number(share(each), each) for each in shares))
        for row in everyone
        for shares in [[*row.success_by_turn[:turns], *[None] * (turns - len(row.success_by_turn))]]
    ]
    words = (
        "Share of the dialogues that had succeeded by a turn; what a smaller allowance of turns would give at least."
        if board.domain == "backend"
        else "Mean over the dialogues of the page shown last by a turn."
    )
    if longest > turns:
        words += f" The first {turns} turns; summary.json of an entry has all."
    caption = f"{heading}, in %"
    yield _figure(
        heading,
        words,
        charts.by_turn(heading, curves),
        tables.table(caption, heads, rows, label=heading),
    )


def _dot(row: Row, x: float) -> charts.Dot:
    return charts.Dot(
        name=row.name, address=_address(row), x=x, y=row.value.mean, line=row.rank is None
    )


def _address(row: Row) -> str:
    return f"../../{entry_address(row.bundle)}"


def _link(row: Row) -> Safe:
    return element("a", said(row.name), href=_address(row))


def _figure(name: str, words: str, chart: Safe, numbers: Safe) -> Safe:
    caption = element("figcaption", element("h2", name), element("p", words))
    behind = element("details", element("summary", "The numbers as a table"), numbers)
    return element("figure", caption, chart, behind)
