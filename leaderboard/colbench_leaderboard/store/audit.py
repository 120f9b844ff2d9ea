"""Auditing a store: everything in it must be consistent with its log.

Every file that the log names must exist unchanged. However, a refused bundle may be missing, and a deleted bundle must
be missing. The folder `entries/` may contain no other files. With a `Verifier`, the bundles of all current entries are
also verified again, and the results must equal the stored files byte for byte.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import ParamSpec

from msgspec import Struct

from colbench.errors import DataError
from colbench_leaderboard.bundle.encoding import sha256
from colbench_leaderboard.store.entries import (
    read_kept_bundle,
    read_receipt,
    read_scores,
    read_summary,
)
from colbench_leaderboard.store.layout import (
    BUNDLE,
    ENTRIES,
    LOG,
    RECEIPT_SIGNATURE,
    VERIFIED,
    Record,
    bundle_folder,
    verified_folder,
)
from colbench_leaderboard.store.log import Log, read_log
from colbench_leaderboard.store.signatures import check_signatures, read_keepers
from colbench_leaderboard.verify.receipt import (
    RECEIPT,
    SCORES,
    SUMMARY,
    Finding,
    Receipt,
    Summary,
)
from colbench_leaderboard.verify.scores import summarize
from colbench_leaderboard.verify.transcripts import duplicated, of_deleted

P = ParamSpec("P")
Verifier = Callable[[Path, list[Path], tuple[Finding, ...], Path], None]
"""A function (bundle, others, carried, out) that verifies `bundle` and writes the results to the folder `out`.

`others`: bundles with whose transcripts the transcripts of `bundle` are compared. `carried`: see
`verification.Settings`. The function raises UserError if this machine cannot verify `bundle`, and DataError if `bundle`
is damaged.
"""
MARKS = {".gitkeep"}
"""Files in `entries/` that the log does not have to name."""


class Audit(Struct, frozen=True, kw_only=True):
    """The result of an audit."""

    head: str
    records: int
    standing: int
    """Number of entries that are on a board."""
    verified: int
    """Number of current entries that were verified again with the same result."""
    signed: int
    """Number of records that a valid signed head covers."""
    keepers: tuple[str, ...]
    """Keepers who signed heads of the log; empty if the store is unsigned."""
    faults: tuple[str, ...]
    """The faults: deviations from the log, and missing or invalid signatures. Each names the file or record."""


def audit(
    store: Path,
    *,
    head: str | None = None,
    signers: Path | None = None,
    verifier: Verifier | None = None,
    seen: Callable[[str, int, int], None] | None = None,
) -> Audit:
    """Check that everything in a store is consistent with its log, and return the result.

    `head`: a head saved earlier, which the log must still contain. `signers`: an allowed-signers file whose keys are
    trusted instead of the keys in the store; the store must then be signed. `verifier` verifies the bundle of each
    current entry again; without a verifier, each summary is compared with the stored scores. `seen` is called with a
    stage, the number of finished entries and the total. Raises DataError if the log itself is inconsistent or lacks
    `head`, and UserError if the public keys cannot be read or this machine cannot verify a bundle.
    """
    log = read_log(store, head)
    torn = (
        ["the last line has no line break, so it does not count as a decision"] if log.torn else []
    )
    faults = [f"{LOG}: {each}" for each in torn]
    signatures = check_signatures(store, log, read_keepers(store, signers))
    faults += signatures.faults
    for record in log.records:
        faults += _faults(_check_record, store, record)
    faults += _unnamed(store, log)
    for record in log.latest().values():
        faults += _faults(_check_bundle, store, record)
    standing = list(log.standing().values())
    found = []
    for number, record in enumerate(standing, start=1):
        found.append(_faults(_recompute, store, record, verifier))
        if seen:
            seen("auditing", number, len(standing))
    return Audit(
        head=log.head,
        records=len(log.records),
        standing=len(standing),
        verified=sum(not each for each in found) if verifier else 0,
        signed=signatures.records,
        keepers=signatures.keepers,
        faults=tuple(dict.fromkeys([*faults, *chain.from_iterable(found)])),
    )


def _faults(check: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> list[str]:
    try:
        check(*args, **kwargs)
    except DataError as error:
        return [str(error)]
    return []


def _check_record(store: Path, record: Record) -> None:
    """Raise DataError unless a record's receipt, and the files that the receipt names, exist and match the record."""
    if not record.receipt:
        return
    receipt = read_receipt(store, record)
    folder = verified_folder(store, record.bundle, record.receipt)
    if record.decision != "refused" and receipt.level is None:
        raise DataError(
            f"{folder / RECEIPT}: the receipt refuses the bundle, but the decision of record {record.number} is "
            f"`{record.decision}`"
        )
    if receipt.level is None and not receipt.summary:
        return
    read_summary(store, record, receipt)
    read_scores(store, record, receipt)


def _recompute(store: Path, record: Record, verifier: Verifier | None) -> None:
    """Raise DataError unless an entry's numbers follow from its transcripts.

    Without a verifier, the summary must follow from the stored scores.
    """
    if verifier:
        _verify(store, record, verifier)
    else:
        _check_summary(store, record)


def _check_summary(store: Path, record: Record) -> None:
    """Raise DataError unless the stored summary follows from the stored scores.

    The field `undisclosed` is not checked, because it cannot be computed from the scores.
    """
    receipt = read_receipt(store, record)
    summary, scores = read_summary(store, record, receipt), read_scores(store, record, receipt)
    recomputed = summarize(
        scores,
        domain=summary.domain,
        trials=summary.trials,
        max_turns=len(summary.success_by_turn),
        undisclosed=(),
    )
    for name in Summary.__struct_fields__:
        stated, found = getattr(summary, name), getattr(recomputed, name)
        if stated != found and name != "undisclosed":
            folder = verified_folder(store, record.bundle, record.receipt)
            raise DataError(f"{folder / SUMMARY}: {name} is {stated}, but {SCORES} gives {found}")


def _check_bundle(store: Path, record: Record) -> None:
    """Raise DataError if a record's bundle is damaged or missing, or exists although the record marks it as deleted.

    A refused bundle may be missing and is not checked. `record` is the latest record about its bundle.
    """
    folder = bundle_folder(store, record.bundle)
    gone = record.deleted
    if gone and folder.exists():
        raise DataError(f"{folder}: not deleted, but record {record.number} marks it as deleted")
    if record.decision == "refused" or gone:
        return
    if not folder.is_dir():
        raise DataError(f"{folder}: missing, but record {record.number} names this bundle")
    with read_kept_bundle(store, record.bundle) as found:
        if found.digest != record.bundle:
            raise DataError(
                f"{folder}: expected a manifest with SHA-256 {record.bundle}, found {found.digest}"
            )


def _unnamed(store: Path, log: Log) -> list[str]:
    """Return a fault for each file in `entries/` that the log does not name, and for each symbolic link."""
    named: dict[Path, set[str]] = {store / ENTRIES: set(MARKS)}
    for record in log.records:
        entry = store / ENTRIES / record.bundle
        named[store / ENTRIES].add(record.bundle)
        named.setdefault(entry, set()).add(VERIFIED)
        if record.decision != "refused":
            named[entry].add(BUNDLE)
        receipts = named.setdefault(entry / VERIFIED, set())
        if record.receipt:
            receipts.add(record.receipt)
            named[entry / VERIFIED / record.receipt] = {RECEIPT, RECEIPT_SIGNATURE, SCORES, SUMMARY}
    linked = [f"{store / ENTRIES}: a symbolic link"] if (store / ENTRIES).is_symlink() else []
    unexpected = (_unexpected(folder, names) for folder, names in named.items())
    return [*linked, *chain.from_iterable(unexpected)]


def _unexpected(folder: Path, names: set[str]) -> Iterator[str]:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_symlink():
            yield f"{path}: a symbolic link"
        elif path.name not in names:
            yield f"{path}: not named by the log"


def verified_against(store: Path, receipt: Receipt) -> tuple[list[Path], list[str]]:
    """Return the bundles with which a receipt's bundle shares transcripts.

    The result has the folders of the existing bundles, and the digests of the deleted bundles.
    """
    folders = {each: bundle_folder(store, each) for each in duplicated(receipt)}
    existing = [folder for folder in folders.values() if folder.is_dir()]
    return existing, [each for each, folder in folders.items() if not folder.is_dir()]


def _verify(store: Path, record: Record, verifier: Verifier) -> None:
    """Raise DataError unless verifying the bundle again produces exactly the stored files."""
    stored = verified_folder(store, record.bundle, record.receipt)
    receipt = read_receipt(store, record)
    against, deleted = verified_against(store, receipt)
    if deleted:
        raise DataError(
            f"{stored / RECEIPT}: cannot be reproduced, because the entry shares transcripts with a bundle that was "
            f"deleted later; create a new receipt with `colbench leaderboard rescore {store} --only "
            f"{record.bundle[:12]} --reason …`"
        )
    with tempfile.TemporaryDirectory(prefix="colbench-audit-") as made:
        folder = bundle_folder(store, record.bundle)
        verifier(folder, against, of_deleted(receipt), Path(made))
        for name in (SCORES, SUMMARY, RECEIPT):
            found = (Path(made) / name).read_bytes() if (Path(made) / name).exists() else b""
            if found != (stored / name).read_bytes():
                raise DataError(
                    f"{stored / name}: verifying the bundle again gives a different file, with "
                    f"SHA-256 {sha256(found)}"
                )
