"""Heads of the log, which keepers sign and publish so that a rewritten log is detected.

A head is the hash of the log's last record.

    STORE/heads/N.txt    the head after record N, and the signature of a keeper

Each signed head names the previous one, so that the removal of a head between two others is detected. If a head was
published where the store's keepers cannot change it, a log whose end was cut off is also detected.
"""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

from colbench.errors import DataError
from colbench_leaderboard.store.layout import HEADS
from colbench_leaderboard.store.log import Log
from colbench_leaderboard.store.plain import read_plain
from colbench_leaderboard.store.signing import MOST_SIGNATURE, Keepers

TITLE = "ColBench leaderboard: head of the log"
MOST_HEAD = MOST_SIGNATURE + 1024
TEXT = re.compile(
    rf"({TITLE}\nrecords: ([1-9]\d{{0,8}})\nhead: ([0-9a-f]{{64}})\n"
    r"time: (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)\nfollows: (\d{1,9})\n)(-----BEGIN [^\0]*)?",
    re.ASCII,
)
FILE = re.compile(r"([1-9]\d{0,8})\.txt", re.ASCII)


class Head(Struct, frozen=True, kw_only=True):
    """The head of a log at one point in time, and its signature."""

    records: int
    """Number of records in the log, at least one."""
    head: str
    """SHA-256 of the last record."""
    time: str
    """Time of the last record."""
    follows: int
    """Number of records that the previous signed head covers; 0 for the first signed head, and for an unsigned head."""
    signature: str = ""
    """The signature; "" if the head is not signed."""

    @property
    def statement(self) -> str:
        """The text that is signed."""
        return (
            f"{TITLE}\nrecords: {self.records}\nhead: {self.head}\n"
            f"time: {self.time}\nfollows: {self.follows}\n"
        )

    @property
    def text(self) -> str:
        """The statement followed by its signature, in the form in which a head is stored and published."""
        return self.statement + self.signature


def head_of(log: Log, follows: int = 0) -> Head:
    """Return the unsigned head of a log. Raises DataError if the log has no records."""
    if not log.records:
        raise DataError("the log has no record and therefore no head")
    last = log.records[-1]
    return Head(records=last.number, head=log.head, time=last.time, follows=follows)


def read_head(path: Path) -> Head:
    """Read a head that was written or published. Raises DataError if the file cannot be read or is not a head."""
    text = read_plain(path, MOST_HEAD).decode("utf-8", "replace").replace("\r\n", "\n")
    found = TEXT.fullmatch(f"{text.strip()}\n")
    if found is None:
        raise DataError(
            f"{path}: not a log head; save the output of `colbench leaderboard head` unchanged"
        )
    _, records, head, time, follows, signature = found.groups(default="")
    return Head(
        records=int(records), head=head, time=time, follows=int(follows), signature=signature
    )


def read_heads(store: Path) -> list[Head]:
    """Return the heads in a store in the order of the log.

    Raises DataError if a file in `heads/` cannot be read, is not a head, or does not match its file name.
    """
    folder = store / HEADS
    if folder.is_symlink():
        raise DataError(f"{folder}: a symbolic link, which a store must not contain")
    heads = []
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name.startswith("."):
            continue  # left by a killed process
        name = FILE.fullmatch(path.name)
        if name is None:
            raise DataError(
                f"{path}: not a signed head (the name of a signed head is a record number, as in 12.txt); move it away"
            )
        head = read_head(path)
        if head.records != int(name[1]):
            raise DataError(
                f"{path}: the name must be {head.records}.txt, because the file is the head after record {head.records}"
            )
        heads.append(head)
    return sorted(heads, key=lambda head: head.records)


def require_head(log: Log, head: Head, name: str) -> None:
    """Raise DataError unless a log begins with the records that a head covers, and the last one has the head's time.

    `name`: the head's name in errors.
    """
    if head.records > len(log.records):
        raise DataError(
            f"{name}: the log had {head.records} records, but now has {len(log.records)}: it was "
            "truncated"
        )
    if log.head_after(head.records) != head.head:
        raise DataError(
            f"{name}: record {head.records} of the log had the hash {head.head}, but now has "
            f"{log.head_after(head.records)}: the log was rewritten"
        )
    if log.records[head.records - 1].time != head.time:
        raise DataError(
            f"{name}: states that record {head.records} of the log has the time {head.time}, but the log "
            f"has {log.records[head.records - 1].time}"
        )


def require_signed(head: Head, keepers: Keepers, name: str) -> str:
    """Return the name of the keeper who signed a head; `name`: the head's name in errors.

    Raises DataError if no keeper signed the head.
    """
    if not head.signature:
        raise DataError(f"{name}: not signed")
    try:
        return keepers.signer(head.statement.encode(), head.signature, "colbench-head", head.time)
    except DataError as cause:
        raise DataError(f"{name}: {cause}") from cause
