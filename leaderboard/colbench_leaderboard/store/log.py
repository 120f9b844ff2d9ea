"""The log of decisions: every line is checked on reading, and only one process at a time appends.

Each line contains the hash of the previous line, so that no line can be changed, moved, added or removed without
rewriting all lines after it. Anyone who keeps the head (the hash of the last line) detects a rewritten or truncated
log: see `head` in `read_log`. A last line without a line break was left by a killed process and does not count.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from colbench.errors import DataError, UserError
from colbench_leaderboard.bundle.encoding import canonical, decode, sha256
from colbench_leaderboard.bundle.plain_text import is_time
from colbench_leaderboard.bundle.refused import Refused
from colbench_leaderboard.store.layout import ADDRESS, FIRST, LOG, STANDING, Decision, Record
from colbench_leaderboard.store.plain import read_plain

MOST_LINE = 64 * 1024
AFTER: dict[str, tuple[Decision, ...]] = {
    "": ("accepted", "refused"),
    "refused": ("accepted", "refused"),
    "removed": ("accepted", "refused", "removed"),
    "accepted": ("rescored", "removed", "kept"),
    "rescored": ("rescored", "removed", "kept"),
    "kept": ("rescored", "removed", "kept"),
}
"""The decisions that may follow each decision about a bundle; the key "" is for a bundle without a decision.

A second `removed` deletes the files that the first one kept.
"""


class Log(Struct, frozen=True, kw_only=True):
    """The log of a store, as read from disk and checked."""

    records: tuple[Record, ...]
    head: str
    """SHA-256 of the last line; `FIRST` if the log is empty."""
    torn: bool
    """True if an incomplete line follows the last line; the incomplete line is not part of the log."""

    def head_after(self, number: int) -> str:
        """Return the SHA-256 of the line of record `number`; records are numbered from 1."""
        return self.head if number == len(self.records) else self.records[number].previous

    def latest(self) -> dict[str, Record]:
        """Return the last record of each bundle, in the order of the bundles' first records."""
        return {record.bundle: record for record in self.records}

    def accepted(self) -> dict[str, Record]:
        """Return, for each bundle, the last record that accepted it."""
        return {each.bundle: each for each in self.records if each.decision == "accepted"}

    def standing(self) -> dict[str, Record]:
        """Return, for each bundle on a board, the record that names its current receipt."""
        return {
            bundle: record
            for bundle, record in self.latest().items()
            if record.decision in STANDING
        }


def read_log(store: Path, head: str | None = None) -> Log:
    """Read the log of a store.

    `head`: a head saved earlier, whose line must still exist. Raises DataError if the log cannot be read, if that line
    is missing, or if a line is damaged or was changed. In the latter case, the message names the line and the reason.
    """
    try:
        content = read_plain(store / LOG)
    except DataError as cause:
        if not isinstance(cause.__cause__, FileNotFoundError | NotADirectoryError):
            raise
        raise DataError(
            f"{store} is not a store: {cause}; create one with `colbench leaderboard init`"
        ) from cause
    log = parse_log(content)
    if (
        head is not None
        and head != FIRST
        and head not in {r.previous for r in log.records} | {log.head}
    ):
        raise DataError(
            f"{LOG}: no line has the hash {head}; if you saved this head from the same log, the log was truncated or "
            "rewritten"
        )
    return log


def parse_log(content: bytes) -> Log:
    """Parse a log. Raises DataError, which names the line and the reason, if a line is damaged or was changed."""
    *lines, rest = content.split(b"\n")
    head, records = FIRST, []
    before: dict[str, Record] = {}
    for number, line in enumerate(lines, start=1):
        try:
            record = decode(line, Record, most=MOST_LINE, file=LOG, line=number)
            _check(record, number, head, before)
        except Refused as cause:
            raise DataError(f"{cause.file}, line {number}: {cause.message}") from cause
        records.append(record)
        head = sha256(line)
    return Log(records=tuple(records), head=head, torn=bool(rest))


def _check(record: Record, number: int, head: str, before: dict[str, Record]) -> None:
    """Raise Refused if the record cannot come next in the log. Otherwise, store it in `before` under its bundle."""

    def require(condition: object, message: str) -> None:
        if not condition:
            raise Refused("log.chain", message, file=LOG, line=number)

    require(
        record.previous == head,
        f"`previous` is {record.previous}, but the previous line has the hash {head}: a line was "
        "changed, moved or removed",
    )
    require(record.number == number, f"`number` is {record.number}, but must be {number}")
    require(is_time(record.time), f"`time` is {record.time}, which is not a time")
    last = before.get(record.bundle)
    decided = last.decision if last else ""
    require(
        record.decision in AFTER[decided],
        f"the decision `{record.decision}` cannot {f'follow `{decided}`' if decided else 'be the first'} for bundle "
        f"{record.bundle}",
    )
    require(
        record.decision != "kept" or (last and record.receipt == last.receipt),
        "`receipt` must be the current receipt if the decision is `kept`",
    )
    removed = record.decision == "removed"
    require(
        not (removed and decided == "removed") or (record.deleted and last and not last.deleted),
        "the decision `removed` can follow `removed` only to delete the files",
    )
    require(
        removed != bool(record.receipt),
        "`receipt` must be empty if the decision is `removed`"
        if removed
        else "`receipt` is missing",
    )
    require(
        (record.decision != "accepted") == bool(record.reason.strip()),
        "`reason` is missing"
        if record.decision != "accepted"
        else "`reason` must be empty if the decision is `accepted`",
    )
    require(
        removed or not record.deleted,
        "`deleted` is allowed only if the decision is `removed`",
    )
    require(
        record.decision == "accepted" or not (record.reference_line or record.reruns),
        "`reference_line` and `reruns` are allowed only if the decision is `accepted`",
    )
    require(
        not (record.reference_line and record.reruns),
        "`reference_line` and `reruns` cannot both be set",
    )
    require(
        not record.reruns
        or (record.reruns in before and before[record.reruns].decision in STANDING),
        f"`reruns`: {record.reruns} is not a current entry",
    )
    before[record.bundle] = record


def time_now() -> str:
    """Return the current time, or the time in SOURCE_DATE_EPOCH if this variable is set, for reproducible stores.

    Raises UserError if SOURCE_DATE_EPOCH is not a number of seconds.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        time = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
        return time.strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError) as cause:
        raise UserError(
            f"SOURCE_DATE_EPOCH: expected a number of seconds since 1970, got {epoch}"
        ) from cause


class LogWriter:
    """A log that this process has locked to append records; a record is on disk when `append` returns."""

    def __init__(self, path: Path, file: int) -> None:
        self._path, self._file = path, file
        self._content = read_plain(path)
        self.log = parse_log(self._content)
        """The current log."""

    def append(self, decision: Decision, bundle: str, **fields: str | bool) -> Record:
        """Write a record.

        Raises DataError if the record does not fit the log, and UserError if the record cannot be written.
        """
        values = {
            "number": len(self.log.records) + 1,
            "previous": self.log.head,
            "time": time_now(),
            "decision": decision,
            "bundle": bundle,
            **fields,
        }
        record = msgspec.convert(values, Record)
        whole = self._content[: self._content.rfind(b"\n") + 1] + canonical(record) + b"\n"
        log = parse_log(whole)
        self._write(whole)
        self.log, self._content = log, whole
        return record

    def _write(self, whole: bytes) -> None:
        """Write the last line, replacing an incomplete line left by a killed process."""
        start = whole.rfind(b"\n", 0, -1) + 1
        try:
            os.ftruncate(self._file, start)
            _write_all(self._file, whole[start:], start)
            os.fsync(self._file)
        except OSError as cause:
            os.ftruncate(self._file, start)
            raise UserError(f"{self._path}: cannot be written: {cause.strerror}") from cause


def _write_all(file: int, content: bytes, start: int) -> None:
    """Write all bytes; on a nearly full disk, a single write may write only a part. Raises OSError."""
    while content:
        written = os.pwrite(file, content, start)
        content, start = content[written:], start + written


@contextmanager
def writing(store: Path) -> Iterator[LogWriter]:
    """Lock the log of a store to append to it.

    Raises UserError if another process has locked the log or this process may not write it. Raises DataError if the log
    is missing, is not a plain file, is damaged (see `read_log`), or has a hard link.
    """
    path = store / LOG
    try:
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as cause:
        if path.is_file() and not path.is_symlink():
            raise UserError(
                f"{path} cannot be written ({cause.strerror}); nothing was changed"
            ) from cause
        raise DataError(
            f"{store} is not a store: {LOG} cannot be written ({cause.strerror}); create a store with "
            "`colbench leaderboard init`"
        ) from cause
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _require_one_name(path, file)
        yield LogWriter(path, file)
    except BlockingIOError as cause:
        raise UserError(
            f"{store} is in use by another colbench process; repeat the command when that process has ended"
        ) from cause
    finally:
        os.close(file)


def _require_one_name(path: Path, file: int) -> None:
    """Raise DataError if the open log has another name (a hard link), which appending would also change."""
    if os.fstat(file).st_nlink != 1:
        raise DataError(
            f"{path}: the log has another name (a hard link), so appending would also change the file of that name. "
            f"Replace the link with a copy: cp {path} {path}.new && mv {path}.new {path}"
        )


def require_latest(log: Log, bundle: str, decision: Decision) -> None:
    """Raise UserError if `decision` cannot follow a bundle's last decision.

    `accepted` is also refused if the digest of another bundle has the same first `ADDRESS` digits.
    """
    last = log.latest().get(bundle)
    if decision not in AFTER[last.decision if last else ""]:
        state = f"was {last.decision} (record {last.number})" if last else "is not in the store"
        raise UserError(f"bundle {bundle} {state}; it cannot be {decision} now")
    like = [each for each in log.latest() if each[:ADDRESS] == bundle[:ADDRESS] and each != bundle]
    if decision == "accepted" and like:
        raise UserError(
            f"bundle {bundle} begins with the same {ADDRESS} digits as {like[0]}, so both would have the "
            "same address on the site; this is unlikely to be a coincidence: check who submitted them"
        )


def find(log: Log, prefix: str) -> str:
    """Return the digest of the only bundle in the log with this prefix.

    Raises UserError unless exactly one bundle has this prefix.
    """
    found = [bundle for bundle in log.latest() if bundle.startswith(prefix)]
    if len(found) != 1:
        problem = (
            f"{len(found)} bundles start with these digits; give more of them"
            if found
            else "no bundle in the log starts with these digits"
        )
        raise UserError(f"{prefix or 'DIGEST'}: {problem}")
    return found[0]
