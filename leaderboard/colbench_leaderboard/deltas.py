"""What each rescoring changed, from the receipts before and after it; both are kept."""

from __future__ import annotations

from pathlib import Path

from colbench_leaderboard.board import Delta
from colbench_leaderboard.entries import read_receipt, read_scores, read_summary
from colbench_leaderboard.log import Log
from colbench_leaderboard.receipt import CellScore, Summary
from colbench_leaderboard.store import Record


def read_deltas(store: Path, log: Log) -> tuple[Delta, ...]:
    """The deltas of all rescorings in a log, in its order. Raises DataError where a receipt is not as named."""
    deltas = []
    before: dict[str, Record] = {}
    for record in log.records:
        if record.decision == "rescored":
            deltas.append(_delta(store, before[record.bundle], record))
        before[record.bundle] = record
    return tuple(deltas)


def _delta(store: Path, before: Record, after: Record) -> Delta:
    (old, old_cells), (new, new_cells) = _found(store, before), _found(store, after)
    return Delta(
        record=after.number,
        bundle=after.bundle,
        cells=len(new_cells),
        differing=sum(old_cells.get(cell) != value for cell, value in new_cells.items()),
        value_before=old.value.mean,
        value_after=new.value.mean,
        success_before=old.success.mean if old.success else None,
        success_after=new.success.mean if new.success else None,
    )


def _found(store: Path, record: Record) -> tuple[Summary, dict[tuple[str, int], float]]:
    receipt = read_receipt(store, record)
    scores: list[CellScore] = read_scores(store, record, receipt)
    values = {(score.task_id, score.trial): score.value for score in scores}
    return read_summary(store, record, receipt), values
