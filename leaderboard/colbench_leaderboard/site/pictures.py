"""Pictures of an entry for other pages: a badge for a README, and a card for links in social networks."""

from __future__ import annotations

from colbench.numbers import bare_percent_range, percent
from colbench_leaderboard.board.model import Board, Row
from colbench_leaderboard.site.boards import board_view
from colbench_leaderboard.site.layout import Page
from colbench_leaderboard.site.slugs import entry_folder
from colbench_leaderboard.site.text import beginning

LABEL = "ColBench"
LETTER = 6.6
"""Width in pixels of a letter on the badge; the SVG attribute `textLength` fits text in any font to this width."""
PADDING = 12
NAME_LENGTH = 44
"""Maximum number of characters of an entry's name on the card."""


def pages(row: Row, board: Board) -> tuple[Page, Page]:
    """Return the badge (`badge.svg`) and the card (`card.svg`, 1200 x 630 pixels) of an entry."""
    here, view = entry_folder(row.bundle), board_view(board)
    score = row.value  # the value that determines the rank
    place = f", rank {row.rank.place}" if row.rank else ""
    shown = f"{percent(score.mean)}{place}"
    badge = {
        "label": LABEL,
        "shown": shown,
        "left": _width(LABEL),
        "right": _width(shown),
    }
    card = {
        "name": beginning(row.name, NAME_LENGTH),
        "organization": beginning(row.organization, NAME_LENGTH),
        "board": view.title,
        "measure": view.value,
        "shown": percent(score.mean),
        "interval": bare_percent_range(score),
        "bar": score,
        "place": place.removeprefix(", ").capitalize(),
        "facts": f"verification level {row.level} · {row.turns.mean:.1f} turns per dialogue · accepted {row.date}",
    }
    return (
        Page(path=f"{here}/badge.svg", template="badge", title=row.name, data=badge),
        Page(path=f"{here}/card.svg", template="card", title=row.name, data=card),
    )


def _width(text: str) -> int:
    return round(len(text) * LETTER) + PADDING
