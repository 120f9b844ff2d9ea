"""A board: the ranking, and beside it the lines to compare with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from colbench.numbers import NOTHING, count
from colbench.report.markup import Safe, element, join
from colbench_leaderboard.board.model import Board, Ceiling, Row
from colbench_leaderboard.site import tables
from colbench_leaderboard.site.frame import Page
from colbench_leaderboard.site.text import (
    DOMAINS,
    TIERS,
    TRACKS,
    VALUES,
    amount,
    between,
    dollars,
    plain,
    said,
    share,
    short,
    trials,
)
from colbench_leaderboard.verify.receipt import Estimate

MANY = 8
"""Entries from which a filter helps."""
PARTS = (
    ("index.html", "Ranking"),
    ("charts.html", "Charts"),
    ("compare.html", "A against B"),
    ("tasks.html", "Tasks"),
)


def title(board: Board) -> str:
    """`Standard · Backend programming`"""
    return f"{TRACKS[board.track]} · {DOMAINS[board.domain]}"


def folder(board: Board) -> str:
    """Where a board's pages are."""
    return f"boards/{board.key}"


def entry_address(bundle: str) -> str:
    """Where an entry's page is."""
    return f"entries/{short(bundle)}/index.html"


def opening(board: Board, here: str) -> Safe:
    """What heads every page of a board."""
    links = (
        element("a", name, href=file, aria_current="page" if file == here else None)
        for file, name in PARTS
    )
    about = (
        f"{count(board.tasks, 'task')} of ",
        said(board.source),
        ", the same for every entry. Tasks’ hash ",
        element("code", board.tasks_hash[:16]),
        ".",
    )
    return join(
        (
            element("h1", title(board)),
            element("p", *about, class_="lead"),
            element("nav", *links, class_="tabs", aria_label="This board"),
        )
    )


def ranking(board: Board) -> Page:
    """The board itself."""
    content = [opening(board, "index.html")]
    if not board.rows:
        content.append(element("p", "There is no ranked entry yet.", class_="notice"))
    if len(board.rows) > MANY:
        content.append(tables.filter_box("ranking", "Find an entry"))
    content += [_table(board), _reading(board), _downloads()]
    return Page(path=f"{folder(board)}/index.html", title=title(board), content=content)


def _table(board: Board) -> Safe:
    lines = [_row(board, row) for row in board.lines]
    return tables.table(
        f"Ranked by {VALUES[board.domain].lower()}, the mean over tasks of the mean over trials; "
        "in small print, 95 % intervals. No number blends two boards.",
        _heads(board),
        [_row(board, row) for row in board.rows],
        [*lines, _ceiling(board, board.ceiling)],
        label="Ranking",
        id_="ranking",
    )


class _Column(NamedTuple):
    """A number of a row, where it is only shown if some row has it."""

    name: str
    low: bool
    value: str


def _more(board: Board) -> list[_Column]:
    columns = [
        _Column("Turns", True, "turns"),
        _Column("Human words", True, "human_words"),
        _Column("Answered, %", False, "answered"),
        _Column("Undisclosed, %", True, "undisclosed"),
        _Column("Tokens", True, "tokens"),
        _Column("Cost", True, "cost"),
    ]
    everyone = (*board.rows, *board.lines)
    return [
        each for each in columns if any(getattr(row, each.value) is not None for row in everyone)
    ]


def _most_trials(board: Board) -> int:
    return max((len(row.pass_k) for row in (*board.rows, *board.lines)), default=0)


def _heads(board: Board) -> Iterator[Safe]:
    yield tables.head("Place", number=True, low=True)
    yield tables.head("Entry")
    yield tables.head(f"{VALUES[board.domain]}, %", number=True)
    if board.domain == "backend":
        yield tables.head("Success, %", number=True)
    if (k := _most_trials(board)) > 1:
        yield tables.head(f"Pass^{k}, %", number=True)
    for column in _more(board):
        yield tables.head(column.name, number=True, low=column.low)


def _row(board: Board, row: Row) -> Safe:
    return tables.row(
        _place(row),
        _name(row),
        lead(row.value),
        *_success(board, row.success),
        *_pass(board, row.pass_k),
        *(_number(row, column) for column in _more(board)),
        id_=short(row.bundle),
        class_=None if row.rank else "line",
    )


def _place(row: Row) -> Safe:
    if row.rank is None:
        return tables.number(NOTHING, None)
    rank = row.rank
    reach = f"{rank.low}–{rank.high}" if rank.low != rank.high else ""
    return tables.number(str(rank.place), rank.place, element("small", reach))


def _name(row: Row) -> Safe:
    link = element("a", said(row.name), href=f"../../{entry_address(row.bundle)}")
    tier = element("span", row.tier, class_="tier", title=TIERS[row.tier])
    weights = " · open weights" if row.open_weights else ""
    about = (tier, " ", said(row.organisation), f" · {trials(row.trials)} · {row.date}{weights}")
    marks = [join([mark, " "]) for mark in _marks(row)]
    return tables.name(link, element("small", *about), *marks)


def _marks(row: Row) -> Iterator[Safe]:
    if row.flags:
        words, rules = count(len(row.flags), "flag"), plain(", ".join(row.flags))
        place = "" if row.flags == ("rerun.differs",) else "#findings"
        address = f"../../{entry_address(row.bundle)}{place}"
        yield element("a", words, href=address, class_="flag", title=rules)
    for words in disclosed(row):
        yield element("span", words, class_="mark")


def disclosed(row: Row) -> Iterator[str]:
    """What a reader must know beside a name."""
    if row.trained_on_colbench:
        yield "trained on ColBench"
    if row.reruns:
        yield "the maintainers’ run"
    if row.human_in_the_loop:
        yield "human in the loop"


def lead(value: Estimate) -> Safe:
    """The number that ranks, with its interval in figures and as a bar."""
    interval = element("small", between(value))
    return tables.number("", value.mean, element("b", share(value.mean)), interval, bar(value))


def bar(value: Estimate) -> Safe:
    """An interval on a scale from 0 to 1."""
    low, mean, high = (
        round(min(max(v, 0), 1) * 100, 1) for v in (value.low, value.mean, value.high)
    )
    return element(
        "svg",
        element("rect", x=0, y=2, width=100, height=2, class_="scale"),
        element("rect", x=low, y=1, width=round(max(high - low, 0.6), 1), height=4, class_="range"),
        element("rect", x=round(mean - 0.5, 1), y=0, width=1, height=6, class_="mean"),
        viewBox="0 0 100 6",
        preserveAspectRatio="none",
        aria_hidden="true",
        class_="bar",
    )


def _success(board: Board, success: Estimate | None) -> list[Safe]:
    if board.domain != "backend":
        return []
    if success is None:
        return [tables.number(NOTHING, None)]
    return [tables.number(share(success.mean), success.mean, element("small", between(success)))]


def _pass(board: Board, pass_k: tuple[float, ...]) -> list[Safe]:
    k = _most_trials(board)
    if k < 2:
        return []
    value = pass_k[k - 1] if len(pass_k) >= k else None
    return [tables.number(share(value), value)]


def _number(row: Row, column: _Column) -> Safe:
    value = getattr(row, column.value)
    if isinstance(value, Estimate):
        return tables.number(amount(value.mean), value.mean)
    if column.value == "cost":
        return tables.number(dollars(value), value)
    if column.name.endswith("%"):
        return tables.number(share(value), value)
    return tables.number(amount(value, 0), value)


def _ceiling(board: Board, ceiling: Ceiling) -> Safe:
    """The reference itself as an answer."""
    about = element("small", "as an answer, by definition of the scorer")
    return tables.row(
        tables.number(NOTHING, None),
        tables.name(element("span", f"The {ceiling.name} itself", class_="is"), about),
        tables.number(share(ceiling.value), ceiling.value),
        *(
            [tables.number(share(ceiling.success), ceiling.success)]
            if board.domain == "backend"
            else []
        ),
        *([tables.number(NOTHING, None)] if _most_trials(board) > 1 else []),
        *(tables.number(NOTHING, None) for _ in _more(board)),
        class_="line",
    )


def _reading(board: Board) -> Safe:
    """How to read it."""
    least = board.least_detectable
    notes = [
        "Place: in small print the 95 % interval of the place, by a joint bootstrap over the tasks. "
        "Entries whose intervals meet may change places on other tasks of the same kind.",
        "T1 shows that the scores follow from the transcripts; it does not show who wrote them. T2: also, the "
        "simulated human was asked again and said the same. T3: the maintainers ran it themselves.",
        "Lines in italics are there to compare with and have no place: programs that come with ColBench, and the "
        "reference itself.",
    ]
    if any(column.value == "undisclosed" for column in _more(board)):
        notes.append(
            "Undisclosed: the share of the hidden facts that answers used before the human had told them."
        )
    if least is not None:
        notes.insert(
            1,
            f"Two entries must differ by about {share(least)} points to be told apart in 4 of 5 such comparisons.",
        )
    body = [element("p", note) for note in notes]
    return join((element("h2", "How to read this"), element("div", *body, class_="prose note")))


def _downloads() -> Safe:
    files = (
        element("a", "JSON", href="board.json"),
        " · ",
        element("a", "CSV", href="board.csv"),
    )
    return join((element("h2", "Downloads"), element("p", "This table: ", *files)))
