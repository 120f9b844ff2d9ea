"""Decisions about bundles: the files that each decision puts into the store, and its record in the log.

Files are written first and the record last, so that a killed process leaves no record without files. After a kill,
repeating the command of the decision completes the decision; `colbench leaderboard audit` names the leftover files.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from colbench.errors import DataError, UserError
from colbench_leaderboard.bundle import placement
from colbench_leaderboard.bundle.encoding import sha256
from colbench_leaderboard.bundle.plain_text import look_alike
from colbench_leaderboard.bundle.read import Bundle, read_bundle
from colbench_leaderboard.bundle.refused import shown
from colbench_leaderboard.bundle.schema import MOST_TEXT
from colbench_leaderboard.store.entries import (
    parse,
    parse_receipt,
    parse_scores,
    read_named,
    read_receipt,
)
from colbench_leaderboard.store.layout import Record, bundle_folder, verified_folder
from colbench_leaderboard.store.log import Log, require_latest, writing
from colbench_leaderboard.store.plain import read_plain
from colbench_leaderboard.verify.findings import Findings, awaits_decision
from colbench_leaderboard.verify.receipt import RECEIPT, SCORES, SUMMARY, Receipt, Summary
from colbench_leaderboard.verify.transcripts import Transcripts


def accept(
    store: Path, bundle: Path, verified: Path, *, reference_line: bool = False, reruns: str = ""
) -> Record:
    """Accept a bundle, with the result of its verification, and return the record.

    `bundle`: a folder or a `.tar.gz`. `verified`: the folder with the bundle's receipt. `reference_line`: True to show
    the entry unranked, for comparison. `reruns`: the digest of the entry whose system the keepers ran again to make
    this bundle; "" if the bundle is not a rerun. At most one of `reference_line` and `reruns` may be set.

    Raises UserError if the receipt refuses the bundle, belongs to another bundle or was made with a replay of only some
    dialogues, or if the bundle is already on a board. Raises UserError if `reruns` is not a current entry of the same
    board or, without `reruns`, if the system's name looks like the name of an entry on that board. Raises DataError if
    a file is missing or invalid, or if both `reference_line` and `reruns` are set.
    """
    with writing(store) as log, read_bundle(bundle) as found:
        require_latest(log.log, found.digest, "accepted")
        receipt = _whole(verified, found.digest)
        if receipt.level is None:
            raise UserError(
                f"{bundle}: refused by its receipt: {_reasons(receipt)}; record the refusal with "
                "`colbench leaderboard accept --refuse REASON`"
            )
        if reruns:
            _require_same_board(store, log.log, found, receipt, reruns)
        else:
            _require_own_name(store, log.log, found, receipt)
        _keep_bundle(store, found)
        digest = _keep_verified(store, found.digest, verified)
        return log.append(
            "accepted",
            found.digest,
            receipt=digest,
            reference_line=reference_line,
            reruns=reruns,
        )


def refuse(store: Path, bundle: Path, verified: Path, reason: str) -> Record:
    """Record that a bundle is refused, and why. Store the receipt's files, but not the bundle; return the record.

    `bundle`: a folder or a `.tar.gz`; `verified`: the folder with the bundle's receipt. Raises UserError if the receipt
    belongs to another bundle, if the bundle is on a board, or if `reason` is not valid. Raises DataError if a file is
    missing or invalid.
    """
    require_reason(reason, "--refuse")
    with writing(store) as log, read_bundle(bundle) as found:
        receipt = _receipt_of(verified, found.digest)
        require_latest(log.log, receipt.bundle, "refused")
        folder = bundle_folder(store, receipt.bundle)
        digest = _keep_verified(store, receipt.bundle, verified)
        record = log.append("refused", receipt.bundle, receipt=digest, reason=reason)
        shutil.rmtree(folder, ignore_errors=True)
        return record


def remove(store: Path, bundle: str, reason: str, *, delete: bool = False) -> Record:
    """Remove an entry from its board, record why, and return the record; `delete`: also delete the bundle's files.

    The files of an entry that was removed earlier can still be deleted. An interrupted deletion is completed without
    another record; the earlier record is then returned. Raises UserError if the bundle is not in the store or was
    refused, if nothing is left to remove, if `reason` is not valid, or if a file cannot be deleted.
    """
    require_reason(reason)
    with writing(store) as log:
        folder = bundle_folder(store, bundle)
        record = log.log.latest().get(bundle)
        if record is None or not (delete and record.deleted and folder.exists()):
            _require_removable(log.log, bundle, delete=delete)
            record = log.append("removed", bundle, reason=reason, deleted=delete)
        if delete:
            _delete(folder)
        return record


def _require_removable(log: Log, bundle: str, *, delete: bool) -> None:
    require_latest(log, bundle, "removed")
    last = log.latest()[bundle]
    if last.decision == "removed" and (last.deleted or not delete):
        how = " and its files deleted" if last.deleted else "; to delete its files, add --delete"
        raise UserError(f"bundle {bundle} was already removed (record {last.number}){how}")


def _delete(folder: Path) -> None:
    """Delete a folder if it exists. Raises UserError if something in it cannot be deleted."""
    try:
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as cause:
        raise UserError(
            f"{cause.filename}: cannot be deleted: {cause.strerror}; repeat the command to complete the deletion"
        ) from cause


def rescore(store: Path, bundle: str, verified: Path, reason: str) -> Record | None:
    """Record the new scores of an entry after a change of the rules.

    `verified`: the folder with the entry's new receipt. If the receipt is unchanged, nothing is recorded, and None is
    returned. Raises UserError if the new rules refuse the bundle, if the bundle is not on a board, if the receipt
    belongs to another bundle or was made with a replay of only some dialogues, or if `reason` is not valid. Raises
    DataError if a file is missing or invalid.
    """
    require_reason(reason)
    with writing(store) as log:
        require_latest(log.log, bundle, "rescored")
        if _whole(verified, bundle).level is None:
            raise UserError(
                f"bundle {bundle}: refused by the new rules; remove it with `colbench "
                "leaderboard remove`"
            )
        if log.log.latest()[bundle].receipt == sha256(read_plain(verified / RECEIPT)):
            return None
        digest = _keep_verified(store, bundle, verified)
        return log.append("rescored", bundle, receipt=digest, reason=reason)


def keep(store: Path, bundle: str, reason: str) -> Record:
    """Record that an entry is ranked despite flags in its current receipt, or despite reruns with different results.

    For flags, the decision holds until the entry gets another receipt. For reruns, it holds until the results of a
    later rerun differ significantly from the entry's. Raises UserError if the entry is not on a board, if it has no
    flag that needs a decision and was not rerun, or if `reason` is not valid.
    """
    require_reason(reason)
    with writing(store) as log:
        require_latest(log.log, bundle, "kept")
        current = log.log.latest()[bundle]
        flagged = any(map(awaits_decision, read_receipt(store, current).findings))
        if not (flagged or any(record.reruns == bundle for record in log.log.records)):
            raise UserError(f"bundle {bundle} has no flag that needs a decision")
        return log.append("kept", bundle, receipt=current.receipt, reason=reason)


def require_reason(reason: str, flag: str = "--reason") -> None:
    """Raise UserError if the reason is empty, too long, or not UTF-8."""
    if not reason.strip():
        raise UserError(
            f"{flag}: the reason is empty; give one that readers of the site understand, because it is published"
        )
    if len(reason) > MOST_TEXT:
        raise UserError(
            f"{flag}: the reason has {len(reason):,} characters; at most {MOST_TEXT:,} are allowed"
        )
    try:
        reason.encode()
    except UnicodeEncodeError as cause:
        raise UserError(
            f"{flag}: the reason is not UTF-8, from character {cause.start + 1} on; write it in UTF-8"
        ) from cause


def require_compared(bundle: Path, verified: Path, against: Sequence[Path]) -> None:
    """Raise UserError unless a bundle's receipt has every finding about transcripts shared with current entries.

    `verified`: the folder of the receipt. `against`: the folders of the current entries' bundles.
    """
    with read_bundle(bundle) as found:
        findings, transcripts = Findings(), Transcripts(found.digest, against)
        for cell in found.cells():
            transcripts.add(cell.rollout)
        transcripts.report_shared(findings)
    named = {finding.message for finding in _receipt(verified).findings}
    for finding in findings.all():
        if finding.message not in named:
            raise UserError(
                f"{verified / RECEIPT}: the bundle was verified without a comparison with a current entry "
                f"({finding.message}); leave out --verified, or verify the bundle again, with --against and the path "
                "of that entry's bundle"
            )


def _require_same_board(
    store: Path, log: Log, bundle: Bundle, receipt: Receipt, other: str
) -> None:
    """Raise UserError unless `other` is a current entry of the board that this bundle will be on."""
    record = log.standing().get(other)
    if record is None:
        raise UserError(f"--reruns: bundle {other} is not a current entry")
    theirs = read_receipt(store, record)
    with read_bundle(bundle_folder(store, other)) as existing:
        track, same = existing.submission.track, _board(existing, theirs) == _board(bundle, receipt)
        setting = placement.setting(existing.lock)
    flaw = ""
    if theirs.tasks != receipt.tasks:
        flaw = "was verified on other tasks than this bundle"
    elif track != bundle.submission.track:
        flaw = f"is in the track {track}, but this bundle is in {bundle.submission.track}"
    elif not same:
        flaw = f"has {setting}, but this bundle has {placement.setting(bundle.lock)}"
    if flaw:
        raise UserError(
            f"--reruns: entry {other[:12]} {flaw}, so the rerun would be on another board than the entry; rerun the "
            "system on the entry's tasks, in its track, and with its human and turn limit"
        )


def _require_own_name(store: Path, log: Log, bundle: Bundle, receipt: Receipt) -> None:
    """Raise UserError if an entry on the same board has a name that looks like this bundle's name."""
    about = bundle.submission
    reruns = {record.bundle for record in log.records if record.reruns}
    for other, record in log.standing().items():
        theirs = read_receipt(store, record)
        if other in reruns or theirs.tasks != receipt.tasks:
            continue
        with read_bundle(bundle_folder(store, other)) as existing:
            same, name = (
                _board(existing, theirs) == _board(bundle, receipt),
                existing.submission.name,
            )
        if same and look_alike(name, about.name):
            raise UserError(
                f"the name '{shown(about.name)}' looks like '{shown(name)}', entry {other[:12]} of the same "
                "board, and readers must be able to tell them apart: submit the bundle under another "
                "name, or `remove` the other entry"
            )


def _board(bundle: Bundle, receipt: Receipt) -> str:
    lock = bundle.lock
    return placement.board_key(bundle.submission.track, lock.tasks.domain, receipt.tasks, lock)


def _keep_bundle(store: Path, bundle: Bundle) -> None:
    """Copy an opened bundle into the store, and check the copy; if the store has the bundle, copy nothing."""
    folder = bundle_folder(store, bundle.digest)
    if folder.exists():
        if (existing := read_bundle(folder).digest) != bundle.digest:
            raise DataError(f"{folder}: contains the bundle {existing} instead")
        return
    part = _part(folder)
    for name in sorted(bundle.files):
        with _writing(part / name):
            (part / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(bundle.folder / name, part / name, follow_symlinks=False)
    if read_bundle(part).digest != bundle.digest:
        raise DataError(f"{bundle.folder}: changed while being read")
    _move(part, folder)


def _keep_verified(store: Path, bundle: str, verified: Path) -> str:
    """Copy a receipt and the files that it names into the store, and return the receipt's hash."""
    receipt = read_plain(verified / RECEIPT)
    digest = sha256(receipt)
    folder = verified_folder(store, bundle, digest)
    part = _part(folder)
    for name in (RECEIPT, SCORES, SUMMARY):
        if (verified / name).exists():
            with _writing(part / name):
                (part / name).write_bytes(read_plain(verified / name))
    _check(part)
    if folder.exists():
        shutil.rmtree(part)
    else:
        _move(part, folder)
    return digest


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Raise UserError, which names the path, if a file cannot be written."""
    try:
        yield
    except OSError as cause:
        raise UserError(f"{path}: cannot be written: {cause.strerror}") from cause


def _part(folder: Path) -> Path:
    """Make an empty folder next to `folder`, to be renamed to `folder` when it is complete."""
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    return part


def _move(part: Path, folder: Path) -> None:
    """Write all files of a folder to disk, then move the folder into place."""
    for path in [*part.rglob("*"), part]:
        _sync(path)
    part.rename(folder)
    _sync(folder.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _whole(verified: Path, bundle: str) -> Receipt:
    """Return the receipt in the folder `verified`; the receipt must cover all dialogues of the bundle.

    Raises UserError if the receipt is for another bundle or the human was replayed in only a sample of the dialogues,
    and DataError if a file is missing or invalid.
    """
    receipt = _receipt_of(verified, bundle)
    if any(found.rule == "replay.sample" for found in receipt.findings):
        raise UserError(
            f"{verified / RECEIPT}: the human was not replayed in all dialogues (--replay); verify the bundle "
            "without --replay, so that everyone can reproduce the receipt"
        )
    _check(verified)
    return receipt


def _check(verified: Path) -> None:
    """Raise DataError unless scores and summary match the receipt; a refused bundle may lack both files."""
    receipt = _receipt(verified)
    for name, digest in ((SCORES, receipt.scores), (SUMMARY, receipt.summary)):
        if digest or receipt.level is not None:
            content = read_named(verified / name, digest)
            if name == SCORES:
                parse_scores(content, verified / name)
            else:
                parse(content, Summary, verified / name)


def _receipt_of(verified: Path, bundle: str) -> Receipt:
    """Return the receipt in the folder `verified`. Raises UserError if the receipt is for another bundle."""
    receipt = _receipt(verified)
    if receipt.bundle != bundle:
        raise UserError(
            f"{verified / RECEIPT}: belongs to bundle {receipt.bundle}, not to bundle {bundle}"
        )
    return receipt


def _receipt(verified: Path) -> Receipt:
    path = verified / RECEIPT
    return parse_receipt(read_plain(path), path)


def _reasons(receipt: Receipt) -> str:
    refusals = [
        f"{each.rule}: {each.message}" for each in receipt.findings if each.severity == "refusal"
    ]
    return "; ".join(refusals[:3]) + (f" and {len(refusals) - 3} more" if len(refusals) > 3 else "")
