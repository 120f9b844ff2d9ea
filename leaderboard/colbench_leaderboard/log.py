"""The log of decisions: read with every check, appended to by one process at a time.

Each line holds the hash of the line before, so that a line cannot be changed, moved, added or taken out without all
after it being written anew. Who keeps the head, the hash of the last line, can tell that too, and a log cut short:
see `read_log`'s `head`. A last line without a line break is what a killed process left; no decision was made.
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
from colbench_leaderboard.bundle import canonical, sha256
from colbench_leaderboard.refused import Refused
from colbench_leaderboard.store import ADDRESS, FIRST, LOG, Decision, Record
from colbench_leaderboard.strict_json import decode

MOST_LINE = 64 * 1024
AFTER: dict[str, tuple[Decision, ...]] = {
    "": ("accepted", "refused"),
    "refused": ("accepted", "refused"),
    "removed": ("accepted", "refused"),
    "accepted": ("rescored", "removed"),
    "rescored": ("rescored", "removed"),
}
"""What may be decided of a bundle, by what was decided of it last."""


class Log(Struct, frozen=True, kw_only=True):
    """A log that holds together."""

    records: tuple[Record, ...]
    head: str
    """SHA-256 of the last line, `FIRST` for an empty log."""
    torn: bool
    """Whether a line without a line break follows; it is no part of the log."""

    def latest(self) -> dict[str, Record]:
        """The last record of each bundle, in the order of their first."""
        return {record.bundle: record for record in self.records}

    def standing(self) -> dict[str, Record]:
        """Of each bundle that stands the record that names the receipt that holds."""
        return {
            bundle: record
            for bundle, record in self.latest().items()
            if record.decision in ("accepted", "rescored")
        }


def read_log(store: Path, head: str | None = None) -> Log:
    """The log of a store.

    `head`: a head that was noted earlier; its line has to be there still. Raises DataError that names the line and
    the reason where the log is not what was written.
    """
    try:
        content = (store / LOG).read_bytes()
    except OSError as cause:
        raise DataError(
            f"{store} is no store: {LOG} cannot be read ({cause.strerror}); `colbench leaderboard init` makes one"
        ) from cause
    log = checked(content)
    if (
        head is not None
        and head != FIRST
        and head not in {r.previous for r in log.records} | {log.head}
    ):
        raise DataError(
            f"{LOG}: no line has the hash {head} that was noted earlier; the log was cut or written anew"
        )
    return log


def checked(content: bytes) -> Log:
    """The log of these bytes. Raises DataError, see `read_log`."""
    *lines, rest = content.split(b"\n")
    head, records = FIRST, []
    before: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        try:
            record = decode(line, Record, most=MOST_LINE, file=LOG, line=number)
            _check(record, number, head, before)
        except Refused as cause:
            raise DataError(f"{cause.file}, line {number}: {cause.message}") from cause
        records.append(record)
        head = sha256(line)
    return Log(records=tuple(records), head=head, torn=bool(rest))


def _check(record: Record, number: int, head: str, before: dict[str, str]) -> None:
    """Raise Refused unless the record may come next; `before`, the last decision by bundle, is kept up to date."""

    def require(condition: object, message: str) -> None:
        if not condition:
            raise Refused("log.chain", message, file=LOG, line=number)

    require(
        record.previous == head,
        f"`previous` is {record.previous}, but the line before has the hash {head}: a line was changed, moved or cut",
    )
    require(record.number == number, f"`number` is {record.number}")
    require(is_time(record.time), f"`time` is {record.time}, which is none")
    last = before.get(record.bundle, "")
    require(
        record.decision in AFTER[last],
        f"{record.decision} cannot come after {last or 'nothing'} for bundle {record.bundle}",
    )
    removed = record.decision == "removed"
    require(removed != bool(record.receipt), "`receipt` has to be there, but not for removed")
    require(
        (record.decision != "accepted") == bool(record.reason.strip()),
        "`reason` has to be there, but not for accepted",
    )
    require(removed or not record.deleted, "`deleted` is for removed only")
    require(
        record.decision == "accepted" or not (record.reference_line or record.reruns),
        "`reference_line` and `reruns` are for accepted only",
    )
    require(not (record.reference_line and record.reruns), "`reference_line` or `reruns`, not both")
    require(
        not record.reruns or before.get(record.reruns) in ("accepted", "rescored"),
        f"`reruns`: no entry {record.reruns} stands",
    )
    before[record.bundle] = record.decision


def is_time(text: str) -> bool:
    """Whether a time in ISO 8601 can be."""
    try:
        return bool(datetime.fromisoformat(text))
    except ValueError:
        return False


class LogWriter:
    """A log held by this process; what it appends is on disk when `append` returns."""

    def __init__(self, path: Path, file: int) -> None:
        self._path, self._file = path, file
        self._content = path.read_bytes()
        self.log = checked(self._content)
        """As it is now."""

    def append(self, decision: Decision, bundle: str, **fields: str | bool) -> Record:
        """Write one record. Raises UserError where it may not come next, or cannot be written."""
        said = {
            "number": len(self.log.records) + 1,
            "previous": self.log.head,
            "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "decision": decision,
            "bundle": bundle,
            **fields,
        }
        record = msgspec.convert(said, Record)
        whole = self._content[: self._content.rfind(b"\n") + 1] + canonical(record) + b"\n"
        self.log = checked(whole)
        self._write(whole)
        self._content = whole
        return record

    def _write(self, whole: bytes) -> None:
        """Write the last line, over what a killed process may have left of one."""
        start = whole.rfind(b"\n", 0, -1) + 1
        try:
            os.ftruncate(self._file, start)
            os.pwrite(self._file, whole[start:], start)
            os.fsync(self._file)
        except OSError as cause:
            os.ftruncate(self._file, start)
            raise UserError(f"{self._path}: cannot be written: {cause.strerror}") from cause


@contextmanager
def writing(store: Path) -> Iterator[LogWriter]:
    """Hold the log of a store against other processes, and append to it.

    Raises UserError when another process has it, DataError where there is no log or it is not whole (`read_log`).
    """
    path = store / LOG
    try:
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except OSError as cause:
        if path.is_file() and not path.is_symlink():
            raise UserError(
                f"{path} cannot be written ({cause.strerror}); nothing was changed"
            ) from cause
        raise DataError(
            f"{store} is no store: {LOG} cannot be written ({cause.strerror}); `colbench leaderboard init` makes one"
        ) from cause
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield LogWriter(path, file)
    except BlockingIOError as cause:
        raise UserError(f"{store} is in use by another colbench process") from cause
    finally:
        os.close(file)


def require_latest(log: Log, bundle: str, decision: Decision) -> None:
    """Raise UserError unless this may be decided of a bundle now."""
    last = log.latest().get(bundle)
    if decision not in AFTER[last.decision if last else ""]:
        state = f"was {last.decision} (record {last.number})" if last else "is not in the store"
        raise UserError(f"bundle {bundle} {state}; it cannot be {decision} now")
    like = [each for each in log.latest() if each[:ADDRESS] == bundle[:ADDRESS] and each != bundle]
    if decision == "accepted" and like:
        raise UserError(
            f"bundle {bundle} begins like {like[0]}, and the site names entries by their first {ADDRESS} digits; "
            "that is no chance: look at who sent the two"
        )


def find(log: Log, prefix: str) -> str:
    """The digest of the one bundle in the log that starts like this. Raises UserError when there is none, or more."""
    found = [bundle for bundle in log.latest() if bundle.startswith(prefix)]
    if len(found) != 1:
        many = f"{len(found)} bundles start" if found else "no bundle in the log starts"
        raise UserError(
            f"{prefix or 'DIGEST'}: {many} like this; give more of the digest, as the log has it"
        )
    return found[0]
