"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table. The first column is aligned left; every other column with a header is aligned right."""
    under = ["---", *("---:" if name else "---" for name in head[1:])]
    return "\n".join(_row(cells) for cells in (head, under, *rows))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
