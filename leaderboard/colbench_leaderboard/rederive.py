"""`colbench leaderboard audit`: everything in a store followed from the log's first line.

Nothing that the log names may be missing or other than named, and nothing may be there that it does not name. With a
verifier each bundle is also verified anew, and what it finds has to be what is there, byte for byte.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import ParamSpec

from msgspec import Struct

from colbench.errors import DataError
from colbench_leaderboard.archive import read_bundle
from colbench_leaderboard.bundle import sha256
from colbench_leaderboard.entries import read_receipt, read_scores, read_summary
from colbench_leaderboard.log import Log, read_log
from colbench_leaderboard.receipt import RECEIPT, SCORES, SUMMARY, CellScore, Summary
from colbench_leaderboard.store import (
    BUNDLE,
    ENTRIES,
    LOG,
    VERIFIED,
    Record,
    bundle_folder,
    entry_folder,
    verified_folder,
)

P = ParamSpec("P")
Verifier = Callable[[Path, Path], None]
"""Verifies the bundle in a folder and writes the three files of `receipt` into another."""
ROUNDING = 1e-4
"""What a mean in a summary may differ by, being rounded."""
MARKS = {".gitkeep"}
"""Files in `entries/` that need not be named."""


class Audit(Struct, frozen=True, kw_only=True):
    """What an audit found."""

    head: str
    records: int
    standing: int
    """Entries that stand."""
    verified: int
    """Of those, verified anew and found the same."""
    faults: tuple[str, ...]
    """What is not as the log says: the file or record, and how it differs."""


def audit(store: Path, *, head: str | None = None, verifier: Verifier | None = None) -> Audit:
    """Follow a store from its log's first line. Raises DataError where the log itself does not hold together."""
    log = read_log(store, head)
    torn = ["the last line has no line break: it is no decision"] if log.torn else []
    faults = [f"{LOG}: {each}" for each in torn]
    for record in log.records:
        faults += _faults(_check_record, store, record)
    faults += _unnamed(store, log)
    for record in log.latest().values():
        faults += _faults(_check_bundle, store, record)
    standing, same = log.standing().values(), 0
    if verifier:
        found = [_faults(_verify, store, record, verifier) for record in standing]
        faults += chain.from_iterable(found)
        same = sum(not each for each in found)
    return Audit(
        head=log.head,
        records=len(log.records),
        standing=len(standing),
        verified=same,
        faults=tuple(faults),
    )


def _faults(check: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> list[str]:
    try:
        check(*args, **kwargs)
    except DataError as error:
        return [str(error)]
    return []


def _check_record(store: Path, record: Record) -> None:
    """Raise DataError unless the receipt of a record is there, what it names too, and its numbers agree."""
    if not record.receipt:
        return
    receipt = read_receipt(store, record)
    folder = verified_folder(store, record.bundle, record.receipt)
    if record.decision != "refused" and receipt.tier is None:
        raise DataError(
            f"{folder / RECEIPT}: refuses the bundle, but record {record.number} took it"
        )
    if receipt.tier is None and not receipt.summary:
        return
    summary, scores = read_summary(store, record, receipt), read_scores(store, record, receipt)
    if reason := _disagreement(summary, scores):
        raise DataError(f"{folder / SUMMARY}: {reason} ({SCORES})")


def _disagreement(summary: Summary, scores: list[CellScore]) -> str:
    """Why a summary is not that of these scores; "" if it is, as far as its grid and its means go."""
    rows: dict[str, list[CellScore]] = {}
    for score in scores:
        rows.setdefault(score.task_id, []).append(score)
    trials = list(range(summary.trials))
    if len(rows) != summary.tasks or any(
        sorted(c.trial for c in r) != trials for r in rows.values()
    ):
        return f"{summary.tasks} tasks with {summary.trials} trials each are not the cells that there are"
    for said, name in (
        (summary.value, "value"),
        (summary.turns, "turns"),
        (summary.success, "success"),
    ):
        if said is None:
            continue
        values = [sum(getattr(cell, name) or 0 for cell in row) / len(row) for row in rows.values()]
        if abs(said.mean - sum(values) / len(values)) > ROUNDING:
            return f"the mean of {name} is {said.mean}, but of the cells it is {sum(values) / len(values)}"
    return ""


def _check_bundle(store: Path, record: Record) -> None:
    """Raise DataError unless the bundle of the latest record is there, or not there, as it has to be."""
    folder = bundle_folder(store, record.bundle)
    gone = record.deleted
    if gone and folder.exists():
        raise DataError(f"{folder}: is there, but record {record.number} says that it was deleted")
    if record.decision == "refused" or gone:
        return
    if not folder.is_dir():
        raise DataError(f"{folder}: is missing; record {record.number} names it")
    with read_bundle(folder) as found:
        if found.digest != record.bundle:
            raise DataError(f"{folder}: its manifest's SHA-256 is {found.digest}")


def _unnamed(store: Path, log: Log) -> list[str]:
    """What is in `entries/` and not in the log."""
    named: dict[Path, set[str]] = {store / ENTRIES: set(MARKS)}
    for record in log.records:
        entry = entry_folder(store, record.bundle)
        named[store / ENTRIES].add(record.bundle)
        named.setdefault(entry, set()).add(VERIFIED)
        if record.decision != "refused":
            named[entry].add(BUNDLE)
        receipts = named.setdefault(entry / VERIFIED, set())
        if record.receipt:
            receipts.add(record.receipt)
            named[entry / VERIFIED / record.receipt] = {RECEIPT, SCORES, SUMMARY}
    return list(chain.from_iterable(_strangers(folder, names) for folder, names in named.items()))


def _strangers(folder: Path, names: set[str]) -> Iterator[str]:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_symlink():
            yield f"{path}: is a symbolic link"
        elif path.name not in names:
            yield f"{path}: is not named by the log"


def _verify(store: Path, record: Record, verifier: Verifier) -> None:
    """Raise DataError unless the bundle, verified anew, gives the very files that are there."""
    there = verified_folder(store, record.bundle, record.receipt)
    with tempfile.TemporaryDirectory(prefix="colbench-audit-") as made:
        verifier(bundle_folder(store, record.bundle), Path(made))
        for name in (SCORES, SUMMARY, RECEIPT):
            anew = (Path(made) / name).read_bytes() if (Path(made) / name).exists() else b""
            if anew != (there / name).read_bytes():
                raise DataError(
                    f"{there / name}: is not what verifying the bundle gives, which has the SHA-256 {sha256(anew)}"
                )
