"""Reading the standings of a store: each entry checked, each board ranked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

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
from colbench_leaderboard.store.entries import (
    read_kept_bundle,
    read_receipt,
    read_scores,
    read_summary,
)
from colbench_leaderboard.store.layout import Record, bundle_folder
from colbench_leaderboard.store.log import Log, read_log
from colbench_leaderboard.verify.receipt import CellScore, Summary, Tier

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

HASH = re.compile(r"[0-9a-f]{64}")


def read_standings(store: Path, head: str | None = None) -> Standings:
    """Read the standings of a store from its log and the files that it names by hash.

    `head`: a head of the log noted earlier. Raises DataError if the log is inconsistent, or a file is missing or not
    the one that was named.
    """
    log = read_log(store, head)
    first = {record.bundle: record for record in log.records if record.decision == "accepted"}
    entries = [_entry(store, first[each.bundle], each) for each in log.standing().values()]
    keys = sorted({each.board for each in entries}, key=lambda key: (key[0] != "s", key))
    return Standings(
        head=log.head,
        records=log.records,
        boards=tuple(_board(store, [e for e in entries if e.board == key]) for key in keys),
        entries={entry.bundle: entry for entry in entries},
        deltas=_deltas(store, log),
        reported=TABLE,
    )


def board_results(store: Path, standings: Standings, board: Board) -> Results:
    """Return the results by task of a board's rows and lines, in that order."""
    rows = [standings.entries[row.bundle] for row in (*board.rows, *board.lines)]
    return read_results(store, board.domain, [(entry.current, entry.receipt) for entry in rows])


def _entry(store: Path, accepted: Record, current: Record) -> Entry:
    receipt = read_receipt(store, current)
    summary = read_summary(store, current, receipt)
    if receipt.tier is None or not HASH.fullmatch(receipt.tasks):
        raise DataError(f"record {current.number}: its receipt is not that of an accepted bundle")
    with read_kept_bundle(store, current.bundle) as bundle:
        if bundle.digest != current.bundle:
            raise DataError(f"{bundle.folder}: holds the bundle {bundle.digest}")
        track = bundle.submission.track
        return Entry(
            bundle=current.bundle,
            board=f"{track}-{summary.domain}-{receipt.tasks[:16]}",
            accepted=accepted,
            current=current,
            submission=bundle.submission,
            lock=bundle.lock,
            receipt=receipt,
            summary=summary,
        )


def _board(store: Path, entries: Sequence[Entry]) -> Board:
    """Return the board of entries on the same tasks."""
    first, domain = entries[0], entries[0].summary.domain
    results = read_results(store, domain, [(each.current, each.receipt) for each in entries])
    reruns = {each.accepted.reruns: each.bundle for each in entries if each.accepted.reruns}
    ranked = [e for e in entries if not (e.accepted.reference_line or e.accepted.reruns)]
    ranks, least = _ranks(results, [each.bundle for each in ranked])
    placed = {each.bundle: rank for each, rank in zip(ranked, ranks, strict=True)}
    rows = [
        _row(store, each, placed.get(each.bundle), results, reruns.get(each.bundle, ""))
        for each in entries
    ]
    rows.sort(key=_order)
    return Board(
        key=first.board,
        track=first.submission.track,
        domain=domain,
        source=first.lock.tasks.source,
        tasks_hash=first.receipt.tasks,
        tasks=len(results.tasks),
        rows=tuple(row for row in rows if row.rank),
        lines=tuple(row for row in rows if not row.rank),
        ceiling=Ceiling(success=1.0 if get_domain(domain).success else None),
        least_detectable=least,
    )


def _order(row: Row) -> tuple[float, ...]:
    """Return the sort key: place, value, success; equal rows stay in the order of acceptance."""
    success = row.success.mean if row.success else 0.0
    return (row.rank.place if row.rank else 0, -row.value.mean, -success)


def _ranks(results: Results, bundles: Sequence[str]) -> tuple[list[Rank], float | None]:
    """Return the places of entries, and the least detectable difference of a typical pair."""
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


def _row(store: Path, entry: Entry, rank: Rank | None, results: Results, rerun: str) -> Row:
    about, summary = entry.submission, entry.summary
    agrees = bool(rerun) and not separable(results, entry.bundle, rerun)
    flags = [each.rule for each in entry.receipt.findings if each.severity == "flag"]
    if rerun and not agrees:
        flags.append("rerun.differs")
    return Row(
        bundle=entry.bundle,
        name=about.name,
        organisation=about.organisation,
        models=about.models,
        open_weights=bool(about.models) and all(model.open_weights for model in about.models),
        trained_on_colbench=about.disclosures.trained_on_colbench,
        human_in_the_loop=about.disclosures.human_in_the_loop,
        agent_process=entry.lock.agent_process,
        tier="T3" if agrees else cast(Tier, entry.receipt.tier),
        rerun=rerun,
        reruns=entry.accepted.reruns,
        flags=tuple(dict.fromkeys(flags)),
        rank=rank,
        date=entry.accepted.time[:10],
        trials=summary.trials,
        value=summary.value,
        success=summary.success,
        pass_k=summary.pass_k,
        turns=summary.turns,
        agent_words=summary.agent_words,
        human_words=summary.human_words,
        answered=summary.answered,
        success_by_turn=summary.success_by_turn,
        undisclosed=summary.undisclosed,
        tokens=mean_tokens(results, entry.bundle),
        cost=mean_cost(bundle_folder(store, entry.bundle), entry.lock),
    )


def _deltas(store: Path, log: Log) -> tuple[Delta, ...]:
    """Return the deltas of all rescorings in a log, in order. Raises DataError if a receipt is not the named one."""
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
