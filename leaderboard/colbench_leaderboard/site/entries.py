"""The page of an entry: its numbers, the findings of its verification, its pinned settings, and how to verify it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec
from msgspec import Struct

from colbench.numbers import (
    amount,
    bare_percent,
    bare_percent_range,
    dollars,
    percent,
    sentence,
)
from colbench.stats import Estimate
from colbench.web.charts import Curve
from colbench_leaderboard.board.model import Board, Delta, Entry, Row
from colbench_leaderboard.site.boards import BoardView, board_trail, board_view, disclosures
from colbench_leaderboard.site.layout import Page
from colbench_leaderboard.site.reproduce import reproduction
from colbench_leaderboard.site.slugs import entry_folder
from colbench_leaderboard.site.tradeoff import by_turn_title
from colbench_leaderboard.store.layout import Record

FINDINGS = 1000
"""Maximum number of findings on a page; the receipt may have more."""
DOWNLOADS = ("receipt.json", "summary.json", "scores.jsonl", "submission.json", "lock.json")


class Tile(Struct, frozen=True, kw_only=True):
    """A box on the page with one number of an entry."""

    name: str
    shown: str
    note: str
    bar: Estimate | None = None
    """The estimate whose interval is drawn."""


def page(
    entry: Entry,
    row: Row,
    board: Board,
    *,
    history: Sequence[Record],
    deltas: Sequence[Delta],
    standing: Collection[str],
) -> Page:
    """Return an entry's page; `standing`: the digests of all entries whose bundles can be downloaded from the site."""
    view, other = board_view(board), row.reruns or row.rerun
    changes = {delta.record: delta for delta in deltas}
    findings = entry.receipt.findings
    return Page(
        path=f"{entry_folder(entry.bundle)}/index.html",
        template="entry",
        title=row.name,
        trail=board_trail(view),
        data={
            "board": view,
            "row": row,
            "marks": (*disclosures(row), *(["open weights"] if row.open_weights else [])),
            "tiles": list(_tiles(row, view)),
            "other": other,
            "other_shown": any(each.bundle == other for each in board.everyone),
            "curve_title": by_turn_title(board.domain),
            "curve": Curve(title=row.name, shares=row.success_by_turn),
            "findings": findings[:FINDINGS],
            "all_findings": len(findings),
            "reproduction": reproduction(entry, standing),
            "receipt": entry.receipt,
            "receipt_hash": entry.current.receipt,
            "submission": entry.submission,
            "lock": entry.lock,
            "config": _config(entry),
            "history": [(record, changes.get(record.number)) for record in history],
            "downloads": DOWNLOADS,
        },
    )


def _tiles(row: Row, view: BoardView) -> Iterator[Tile]:
    yield _share(sentence(view.value), row.value)
    if row.success:
        yield _share(sentence(view.success), row.success)
    if len(row.pass_k) > 1:
        shown = percent(row.pass_k[-1])
        yield Tile(name=f"Pass^{len(row.pass_k)}", shown=shown, note="all trials succeed")
    for name, share, meaning in (
        ("Ask F1", row.ask_f1, "harmonic mean of precision and recall"),
        ("Ask precision", row.ask_precision, "questions that revealed an open decision"),
        ("Ask recall", row.ask_recall, "hidden decisions revealed before the answer"),
    ):
        if share:
            yield _share(name, share, meaning)
    yield _mean("Turns", row.turns)
    yield _mean("Human words", row.human_words, "words that the human wrote")
    yield _mean("Agent words", row.agent_words, "words that the human had to read")
    yield Tile(name="Answered", shown=percent(row.answered), note="of the dialogues")
    if row.undisclosed is not None:
        shown, note = percent(row.undisclosed), "hidden facts used, but never revealed"
        yield Tile(name="Undisclosed", shown=shown, note=note)
    if row.tokens is not None:
        shown, note = amount(row.tokens, 0), "tokens of the agent per dialogue; not verified"
        yield Tile(name="Tokens, reported", shown=shown, note=note)
    if row.cost is not None:
        shown, note = dollars(row.cost), "per dialogue at the stated price; not verified"
        yield Tile(name="Cost, reported", shown=shown, note=note)


def _share(name: str, value: Estimate, meaning: str = "") -> Tile:
    note = _note(f"{bare_percent_range(value)}%", meaning)
    return Tile(name=name, shown=f"{bare_percent(value.mean)}%", note=note, bar=value)


def _mean(name: str, value: Estimate, meaning: str = "") -> Tile:
    note = _note(f"{amount(value.low)}–{amount(value.high)}", meaning)
    return Tile(name=name, shown=amount(value.mean), note=note)


def _note(interval: str, meaning: str) -> str:
    return f"{interval}; {meaning}" if meaning else interval


def _config(entry: Entry) -> str:
    """Return all settings that could change a number, as JSON."""
    pinned = {"config": entry.lock.config, "pins": entry.lock.pins}
    return msgspec.json.format(msgspec.json.encode(pinned), indent=2).decode()
