"""A board as JSON and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import msgspec

from colbench_leaderboard.board.model import Board, Row
from colbench_leaderboard.verify.receipt import Estimate

FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""With these, or their wide forms, a text starts a formula in a spreadsheet."""
ESTIMATES = ("value", "success", "turns", "agent_words", "human_words")
NUMBERS = ("answered", "undisclosed", "tokens", "cost")


def as_json(board: Board) -> bytes:
    """Everything that the board's page shows."""
    return msgspec.json.format(msgspec.json.encode(board), indent=1) + b"\n"


def as_csv(board: Board) -> str:
    """A line for each entry; lines to compare with have no place."""
    rows = [_cells(row) for row in (*board.rows, *board.lines)]
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
        "organisation": row.organisation,
        "bundle": row.bundle,
        "tier": row.tier,
        "flags": " ".join(row.flags),
        "date": row.date,
        "trials": row.trials,
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
    """A text that no spreadsheet takes for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
