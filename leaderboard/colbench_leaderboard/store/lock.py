"""The lock of a store: while an entry is being verified against the others, no entry can be added.

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

    Raises UserError if another process has locked it, DataError if the folder is not a store.
    """
    read_log(store)
    path = store / LOCK
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as cause:
        raise DataError(f"{path}: cannot be opened as a plain file: {cause.strerror}") from cause
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as cause:
        raise UserError(
            f"{store} is in use by another colbench process; repeat the command when that "
            "process has ended"
        ) from cause
    finally:
        os.close(file)
