"""The lock of a store: while an entry is being verified against the other entries, no entry can be added.

The operating system releases the lock when the process ends in any way.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from colbench.errors import DataError, UserError
from colbench_leaderboard.store.layout import LOCK
from colbench_leaderboard.store.log import read_log


@contextmanager
def locked(store: Path) -> Iterator[None]:
    """Lock a store while an entry is verified and recorded.

    Raises UserError if another process has locked the store, and DataError if the folder is not a store or has a
    damaged log.
    """
    read_log(store)
    with held(store / LOCK, str(store)):
        yield


@contextmanager
def held(path: Path, name: str) -> Iterator[None]:
    """Lock a file for the duration of a `with` block; the file exists only while it is locked.

    Raises UserError, whose message starts with `name`, if another process holds the lock. Raises DataError if the file
    cannot be opened.
    """
    try:
        file = _lock(path)
    except BlockingIOError as cause:
        raise UserError(
            f"{name} is in use by another colbench process; repeat the command when that process has ended"
        ) from cause
    except OSError as cause:
        raise DataError(f"{path}: cannot be opened as a plain file: {cause.strerror}") from cause
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(file)


def _lock(path: Path) -> int:
    """Create, open and lock a file. Raises BlockingIOError if another process has locked it, or another OSError."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(path, file):
                return file
        except OSError:
            os.close(file)
            raise
        os.close(file)  # the previous holder deleted the file between opening and locking


def _is_at(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(file))
    except FileNotFoundError:
        return False
