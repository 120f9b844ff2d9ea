"""The charts of a board (quality against cost, and quality by turn), each with a table of its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from colbench.numbers import amount, dollars, sentence
from colbench.registry import get_domain
from colbench.web.charts import Curve, Dot, Emphasis, pareto_front
from colbench_leaderboard.board.model import Board, Row
from colbench_leaderboard.site.boards import Number, board_page
from colbench_leaderboard.site.layout import Page
from colbench_leaderboard.site.slugs import entry_page

NAMED = 4
"""Maximum number of ranked entries whose curves are highlighted and labeled."""
MOST_TURNS = 50
"""Maximum number of turns in the curves and their table, so that one long curve does not compress the other curves."""
COST = "Cost, reported"
COSTS: tuple[tuple[str, str, Callable[[Row], float | None]], ...] = (
    ("Turns", "turns per dialogue", lambda row: row.turns.mean),
    ("Human words", "human words per dialogue", lambda row: row.human_words.mean),
    (COST, "US dollars per dialogue, at the reported tokens and price", lambda row: row.cost),
    ("Tokens, reported", "agent tokens per dialogue, as reported", lambda row: row.tokens),
)


class Point(Struct, frozen=True, kw_only=True):
    """A row of the table behind a scatter chart."""

    row: Row
    cost: Number
    best: bool
    """True if the entry is on the Pareto front."""


class Scatter(Struct, frozen=True, kw_only=True):
    """A chart of quality against one cost."""

    name: str
    unit: str
    dots: Sequence[Dot]
    points: Sequence[Point]
    lacking: int
    """Number of entries whose cost is unknown."""


class ByTurn(Struct, frozen=True, kw_only=True):
    """A chart of quality by number of turns."""

    title: str
    note: str
    curves: Sequence[Curve]
    turns: int
    rows: Sequence[tuple[Row, Sequence[float | None]]]
    longest: int
    """Number of turns of the longest curve, before curves are cut to `MOST_TURNS`."""


def page(board: Board) -> Page:
    """Return the page of a board's charts."""
    return board_page(
        board, "charts", "Charts", scatters=list(_scatters(board)), by_turn=_by_turn(board)
    )


def by_turn_title(domain: str) -> str:
    """Return the title of a chart by turn, such as `Success rate by turn`."""
    found = get_domain(domain)
    return f"{sentence((found.success or found.primary).label)} by turn"


def _scatters(board: Board) -> Iterator[Scatter]:
    everyone = board.everyone
    for name, unit, cost in COSTS:
        known = [(row, x) for row in everyone if (x := cost(row)) is not None]
        if not known:
            continue
        dots = [_dot(row, x) for row, x in known]
        best = {dot.address for dot in pareto_front(dots)}
        show = dollars if name == COST else amount
        yield Scatter(
            name=name,
            unit=unit,
            dots=dots,
            points=[
                Point(row=row, cost=Number(show(x), x), best=dot.address in best)
                for (row, x), dot in zip(known, dots, strict=True)
            ],
            lacking=len(everyone) - len(known),
        )


def _dot(row: Row, x: float) -> Dot:
    address = f"../../{entry_page(row.bundle)}"
    return Dot(name=row.name, address=address, x=x, y=row.value.mean, reference=row.rank is None)


def _by_turn(board: Board) -> ByTurn | None:
    rows = [row for row in board.everyone if row.success_by_turn]
    if not rows:
        return None
    domain = get_domain(board.domain)
    longest = max(len(row.success_by_turn) for row in rows)
    turns = min(longest, MOST_TURNS)
    return ByTurn(
        title=by_turn_title(board.domain),
        note=(
            "Share of the dialogues that had succeeded by a turn; a smaller turn limit would "
            "give at least this success rate."
            if domain.success
            else f"Mean score, over all dialogues, of the last {domain.noun} that the agent had shown by a turn."
        ),
        curves=[_curve(row, turns, place < NAMED) for place, row in enumerate(rows)],
        turns=turns,
        rows=[(row, _padded(row.success_by_turn, turns)) for row in rows],
        longest=longest,
    )


def _curve(row: Row, turns: int, first: bool) -> Curve:
    emphasis: Emphasis = "reference" if row.rank is None else "strong" if first else "faint"
    return Curve(
        title=row.name,
        shares=row.success_by_turn[:turns],
        emphasis=emphasis,
        name="" if emphasis == "faint" else row.name,
    )


def _padded(shares: Sequence[float], turns: int) -> list[float | None]:
    return [*shares[:turns], *[None] * (turns - len(shares))]
