"""Reading the files of a store as plain files: a symbolic link could lead anywhere, so links are refused."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from colbench.errors import DataError


def read_plain(path: Path, most: int | None = None) -> bytes:
    """Return the content of a plain file.

    `most`: maximum size in bytes. Raises DataError if the file cannot be read, is larger, or is a link, folder or
    device.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as cause:
        if cause.errno == errno.ELOOP:
            raise DataError(f"{path}: a symbolic link, which a store must not contain") from cause
        raise DataError(f"{path}: cannot be read: {cause.strerror}") from cause
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise DataError(f"{path}: not a regular file")
    with os.fdopen(file, "rb") as opened:
        content = opened.read() if most is None else opened.read(most + 1)
    if most is not None and len(content) > most:
        raise DataError(f"{path}: more than {most} bytes")
    return content


def require_no_links(store: Path, path: Path) -> None:
    """Raise DataError if any existing folder or file on the path from a store to `path` is a symbolic link."""
    way = path.relative_to(store)
    for part in (*reversed(way.parents[:-1]), way):
        if (store / part).is_symlink():
            raise DataError(f"{store / part}: a symbolic link, which a store must not contain")
