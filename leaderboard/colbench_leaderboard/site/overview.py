"""Pages about the whole site: the boards, the paper's table, the log, and the definitions of levels and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from colbench_leaderboard.board.model import Board, Delta, Row, Standings
from colbench_leaderboard.site.boards import BoardView, board_view
from colbench_leaderboard.site.layout import Page
from colbench_leaderboard.store.layout import Record

TOP = 5
"""Maximum number of entries of a board on the front page."""


class BoardSummary(Struct, frozen=True, kw_only=True):
    """A board on the front page."""

    view: BoardView
    entries: int
    """Number of ranked entries."""
    shown: Sequence[Row]
    """The first ranked entries or, if none is ranked, the first lines (see `Board.lines`)."""


class Decision(Struct, frozen=True, kw_only=True):
    """A record of the log."""

    record: Record
    name: str
    """Name of the entry if it is on the site, else ""."""
    change: Delta | None


def pages(standings: Standings) -> Sequence[Page]:
    """Return the pages that do not belong to a single board or entry."""
    return (front(standings), paper(standings), log(standings), about())


def front(standings: Standings) -> Page:
    """Return the page with the first entries of every board."""
    boards = [_summary(board) for board in standings.boards]
    return Page(path="index.html", template="front", title="Boards", data={"boards": boards})


def paper(standings: Standings) -> Page:
    """Return the page with the paper's Table 2."""
    data = {"reported": standings.reported}
    return Page(path="paper.html", template="paper", title="The paper’s table", data=data)


def log(standings: Standings) -> Page:
    """Return the page with every decision and the chain of hashes."""
    changes = {delta.record: delta for delta in standings.deltas}
    names = {bundle: entry.submission.name for bundle, entry in standings.entries.items()}
    data = {
        "head": standings.head,
        "decisions": [_decision(each, names, changes) for each in reversed(standings.records)],
    }
    return Page(path="log.html", template="log", title="Log", data=data)


def about() -> Page:
    """Return the page that explains verification levels, tracks and numbers."""
    return Page(path="about.html", template="about", title="About")


def _summary(board: Board) -> BoardSummary:
    shown = board.rows[:TOP] or board.lines[:TOP]
    return BoardSummary(view=board_view(board), entries=len(board.rows), shown=shown)


def _decision(record: Record, names: Mapping[str, str], changes: Mapping[int, Delta]) -> Decision:
    name = names.get(record.bundle, "")
    return Decision(record=record, name=name, change=changes.get(record.number))
