"""The standings of a store: functions that read and check its entries, and rank its boards."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from colbench.errors import DataError
from colbench.registry import get_domain
from colbench_leaderboard.board.comparison import separable
from colbench_leaderboard.board.costs import mean_cost, mean_tokens
from colbench_leaderboard.board.model import (
    Board,
    Ceiling,
    Delta,
    Entry,
    Rank,
    Row,
    Standings,
)
from colbench_leaderboard.board.reported import TABLE
from colbench_leaderboard.board.results import Results, read_results
from colbench_leaderboard.bundle.placement import board_key, setting
from colbench_leaderboard.store.entries import (
    read_kept_bundle,
    read_receipt,
    read_scores,
    read_summary,
)
from colbench_leaderboard.store.layout import Record, bundle_folder
from colbench_leaderboard.store.log import Log, read_log
from colbench_leaderboard.verify.findings import awaits_decision
from colbench_leaderboard.verify.receipt import CellScore, Finding, Level, Summary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

HASH = re.compile(r"[0-9a-f]{64}")
RERUN_DIFFERS = Finding(
    rule="rerun.differs",
    severity="flag",
    file="",
    message="the maintainers ran the system themselves, with different results",
)


def read_standings(store: Path, head: str | None = None) -> Standings:
    """Read the standings of a store from the log and from the files that the log names by hash.

    `head`: the hash of the log's last line at an earlier time. Raises DataError if the log is inconsistent or lacks
    that line, if a file is missing or does not match its hash, or if the entries of a board have different tasks.
    """
    log = read_log(store, head)
    accepted = log.accepted()
    entries = [_entry(store, accepted[each.bundle], each) for each in log.standing().values()]
    kept = _kept(log)
    keys = sorted({each.board for each in entries}, key=lambda key: (key[0] != "s", key))
    return Standings(
        head=log.head,
        records=log.records,
        boards=tuple(_board(store, [e for e in entries if e.board == key], kept) for key in keys),
        entries={entry.bundle: entry for entry in entries},
        deltas=_deltas(store, log),
        reported=TABLE,
    )


def board_results(store: Path, standings: Standings, board: Board) -> Results:
    """Return the results by task of all rows of a board, in the order of `Board.everyone`."""
    rows = [standings.entries[row.bundle] for row in board.everyone]
    return read_results(store, board.domain, [(entry.current, entry.receipt) for entry in rows])


def _entry(store: Path, accepted: Record, current: Record) -> Entry:
    receipt = read_receipt(store, current)
    summary = read_summary(store, current, receipt)
    if receipt.level is None or not HASH.fullmatch(receipt.tasks):
        raise DataError(
            f"record {current.number} puts its bundle on a board, but the bundle's receipt lacks the verification "
            "level or the hash of the tasks"
        )
    with read_kept_bundle(store, current.bundle) as bundle:
        if bundle.digest != current.bundle:
            raise DataError(f"{bundle.folder}: contains the bundle {bundle.digest} instead")
        track = bundle.submission.track
        return Entry(
            bundle=current.bundle,
            board=board_key(track, summary.domain, receipt.tasks, bundle.lock),
            accepted=accepted,
            current=current,
            submission=bundle.submission,
            lock=bundle.lock,
            receipt=receipt,
            summary=summary,
        )


def _kept(log: Log) -> dict[str, int]:
    """Return, for each bundle, the number of its latest record with the decision `kept`.

    Only records after the bundle's last acceptance count. Bundles without such a record are left out.
    """
    kept: dict[str, int] = {}
    for record in log.records:
        if record.decision == "kept":
            kept[record.bundle] = record.number
        elif record.decision == "accepted":
            kept.pop(record.bundle, None)
    return kept


def _board(store: Path, entries: Sequence[Entry], kept: Mapping[str, int]) -> Board:
    """Return the board of these entries, which must all have the same `Entry.board`; `kept`: see `_kept`."""
    first, domain = entries[0], entries[0].summary.domain
    results = read_results(store, domain, [(each.current, each.receipt) for each in entries])
    trusted = [
        _trust(
            each,
            [other for other in entries if other.accepted.reruns == each.bundle],
            results,
            kept.get(each.bundle, 0),
        )
        for each in entries
    ]
    ranked = [
        e for e, trust in zip(entries, trusted, strict=True) if _competes(e) and not trust.pending
    ]
    ranks, least = _ranks(results, [each.bundle for each in ranked])
    placed = {each.bundle: rank for each, rank in zip(ranked, ranks, strict=True)}
    rows = [
        _row(store, entry, placed.get(entry.bundle), results, trust)
        for entry, trust in zip(entries, trusted, strict=True)
    ]
    rows.sort(key=_order)
    competing = {each.bundle for each in entries if _competes(each)}
    return Board(
        key=first.board,
        track=first.submission.track,
        domain=domain,
        source=first.lock.tasks.source,
        tasks_hash=first.receipt.tasks,
        tasks=len(results.tasks),
        setting=setting(first.lock),
        rows=tuple(row for row in rows if row.rank),
        flagged=tuple(row for row in rows if row.bundle in competing and not row.rank),
        lines=tuple(row for row in rows if row.bundle not in competing),
        ceiling=Ceiling(success=1.0 if get_domain(domain).success else None),
        least_detectable=least,
    )


def _competes(entry: Entry) -> bool:
    """Return True unless an entry is a reference line or a maintainers' run."""
    return not (entry.accepted.reference_line or entry.accepted.reruns)


class _Trust(Struct, frozen=True, kw_only=True):
    """The trust in an entry: its verification level and findings."""

    level: Level
    rerun: str
    """See `Row.rerun`."""
    flags: tuple[Finding, ...]
    pending: tuple[Finding, ...]
    """See `Row.pending`."""


def _trust(entry: Entry, reruns: Sequence[Entry], results: Results, kept: int) -> _Trust:
    """Return the trust in an entry.

    `reruns`: the maintainers' runs of the entry's system. `kept`: the number of the last record that ranks the entry
    despite its flags; 0 if no such record exists.
    """
    flags = [each for each in entry.receipt.findings if each.severity == "flag"]
    current = entry.current.decision == "kept"
    pending = [] if current else list(filter(awaits_decision, flags))
    differing = [each for each in reruns if separable(results, entry.bundle, each.bundle)]
    if differing:
        flags.append(RERUN_DIFFERS)
    if any(each.accepted.number > kept for each in differing):
        pending.append(RERUN_DIFFERS)
    shown = differing or reruns
    return _Trust(
        level="V3" if reruns and not differing else cast(Level, entry.receipt.level),
        rerun=shown[-1].bundle if shown else "",
        flags=tuple(flags),
        pending=tuple(pending),
    )


def _order(row: Row) -> tuple[float, ...]:
    """Return the key that sorts rows by ascending place, then by descending value and success; ties keep order."""
    success = row.success.mean if row.success else 0.0
    return (row.rank.place if row.rank else 0, -row.value.mean, -success)


def _ranks(results: Results, bundles: Sequence[str]) -> tuple[list[Rank], float | None]:
    """Return the ranks of these entries, and the value of `Board.least_detectable`."""
    import numpy as np

    from colbench.stats import rounded
    from colbench.stats.power import typical_least_detectable
    from colbench.stats.ranks import describe_separability, places

    if not bundles:
        return [], None
    values = np.column_stack([results.values(bundle).mean(axis=1) for bundle in bundles])
    found = places(values)
    ranks = [
        Rank(place=place, low=low, high=high, words=describe_separability(index, found))
        for index, (place, low, high) in enumerate(
            zip(found.place, found.low, found.high, strict=True)
        )
    ]
    least = typical_least_detectable(values)
    return ranks, None if least is None else rounded(least)


def _row(store: Path, entry: Entry, rank: Rank | None, results: Results, trust: _Trust) -> Row:
    about, summary = entry.submission, entry.summary
    return Row(
        bundle=entry.bundle,
        name=about.name,
        organization=about.organization,
        models=about.models,
        open_weights=bool(about.models) and all(model.open_weights for model in about.models),
        trained_on_colbench=about.disclosures.trained_on_colbench,
        human_in_the_loop=about.disclosures.human_in_the_loop,
        agent_process=entry.lock.agent_process,
        level=trust.level,
        rerun=trust.rerun,
        reruns=entry.accepted.reruns,
        flags=tuple(dict.fromkeys(flag.rule for flag in trust.flags)),
        pending=trust.pending,
        rank=rank,
        date=entry.accepted.time[:10],
        trials=summary.trials,
        value=summary.value,
        success=summary.success,
        pass_k=summary.pass_k,
        turns=summary.turns,
        agent_words=summary.agent_words,
        human_words=summary.human_words,
        ask_precision=summary.asking.get("ask_precision"),
        ask_recall=summary.asking.get("ask_recall"),
        ask_f1=summary.asking.get("ask_f1"),
        answered=summary.answered,
        success_by_turn=summary.success_by_turn,
        undisclosed=summary.undisclosed,
        tokens=mean_tokens(results, entry.bundle),
        cost=mean_cost(results, entry.bundle, bundle_folder(store, entry.bundle), entry.lock),
    )


def _deltas(store: Path, log: Log) -> tuple[Delta, ...]:
    """Return the deltas of all rescorings in a log, in order. Raises DataError if a receipt does not match its hash."""
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
