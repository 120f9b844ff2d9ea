"""A against B: for each entry a page with it against every other of its board, and a page to choose two.

What the comparisons come to stands in a table; below it, the tasks on which the two differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from colbench.numbers import NOTHING
from colbench.report.markup import Safe, element
from colbench_leaderboard.board.comparison import TIE_RULE, Comparison, Difference, Wins
from colbench_leaderboard.board.model import Board, Row
from colbench_leaderboard.board.results import Results
from colbench_leaderboard.site import tables
from colbench_leaderboard.site.boards import entry_address, folder, opening, title
from colbench_leaderboard.site.differing import Differing, differing, lists, mark
from colbench_leaderboard.site.frame import Page
from colbench_leaderboard.site.text import (
    VALUES,
    between_points,
    chance,
    link,
    plain,
    said,
    share,
    short,
    signed,
)


def choice(board: Board, rows: Sequence[Row]) -> Page:
    """The page to choose two."""
    links = (
        element("li", element("a", said(row.name), href=f"against/{short(row.bundle)}.html"))
        for row in rows
    )
    return Page(
        path=f"{folder(board)}/compare.html",
        title=f"A against B: {title(board)}",
        content=[
            opening(board, "compare.html"),
            _chooser(rows),
            element("h2", "One against every other"),
            element("ul", *links, class_="columns"),
        ],
    )


def _chooser(rows: Sequence[Row]) -> Safe:
    """Two entries to choose; shown by the script, which it needs."""
    boxes = (_box(name, rows, place) for place, name in enumerate("AB"))
    button = element("button", "Compare", type="button", class_="do")
    return element("div", *boxes, button, class_="tools", data_chooser="", hidden="")


def _box(name: str, rows: Sequence[Row], chosen: int) -> Safe:
    options = (
        element(
            "option",
            plain(row.name),
            value=short(row.bundle),
            selected="" if place == chosen else None,
        )
        for place, row in enumerate(rows)
    )
    key = f"entry-{name}"
    label = element("label", name, for_=key)
    return element("div", label, element("select", *options, id=key))


def page(
    board: Board,
    row: Row,
    found: Sequence[Comparison],
    rows: Mapping[str, Row],
    results: Results,
) -> Page:
    """One against every other. `rows`: by digest; `results`: by task."""
    apart = differing(results, row.bundle, [each.theirs for each in found])
    backend = board.domain == "backend"
    heads = [
        tables.head("Against"),
        tables.head(f"{VALUES[board.domain]}, points", number=True),
        tables.head("p", number=True, low=True),
        *(
            [tables.head("Success, points", number=True), tables.head("p", number=True, low=True)]
            if backend
            else []
        ),
        tables.head("Won – tied – lost", number=True),
        tables.head("Win rate, %", number=True),
        tables.head("Verdict on success" if backend else "Verdict"),
    ]
    caption = (
        f"Points: {plain(row.name)} minus the other, with 95 % intervals, paired by task. p: two-sided, adjusted after "
        f"Holm for the {len(found)} comparisons of this page. Won, tied and lost tasks, which are below: {TIE_RULE}."
    )
    lines = (_line(board, each, rows[each.theirs], apart[each.theirs]) for each in found)
    return Page(
        path=f"{folder(board)}/against/{short(row.bundle)}.html",
        title=f"{plain(row.name)} against the others",
        trail=(
            (f"{folder(board)}/index.html", title(board)),
            (f"{folder(board)}/compare.html", "A against B"),
        ),
        content=[
            element("h1", said(row.name), " against the others"),
            element(
                "p",
                element("a", "The entry", href=f"../../../{entry_address(row.bundle)}"),
                class_="lead",
            ),
            tables.filter_box("against", "Find an entry"),
            tables.table(caption, heads, lines, label="Comparisons", id_="against"),
            *lists(row, apart, rows, results.tasks),
        ],
    )


def _line(board: Board, each: Comparison, other: Row, apart: Differing) -> Safe:
    link = element("a", said(other.name), href=f"{short(other.bundle)}.html#{short(each.mine)}")
    backend, wins = board.domain == "backend", each.wins
    return tables.row(
        tables.name(link),
        *_difference(each.value),
        *(_difference(each.success) if backend else []),
        tables.number("", wins.won - wins.lost, _wins(wins, other, apart)),
        tables.number(share(wins.rate.mean), wins.rate.mean),
        tables.cell(said(each.words.partition(":")[0])),
        id_=short(each.theirs),
        class_=None if other.rank else "line",
    )


def _wins(wins: Wins, other: Row, apart: Differing) -> Safe:
    """How many tasks were won, tied and lost, which leads to those."""
    words = Safe(f"{wins.won} – {wins.tied} – {wins.lost}")
    return link(words, f"#{mark(other.bundle)}") if apart.total else words


def _difference(found: Difference | None) -> list[Safe]:
    if found is None:
        return [tables.number(NOTHING, None), tables.number(NOTHING, None)]
    test = found.test
    return [
        tables.number(
            "",
            found.mean.mean,
            element("b", signed(found.mean.mean)),
            element("small", between_points(found.mean)),
        ),
        tables.number(chance(test.adjusted), test.adjusted, element("small", test.name)),
    ]
