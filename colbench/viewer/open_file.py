"""A file that stays open, to find out whether another file has replaced it."""

from __future__ import annotations

import os
import weakref
from pathlib import Path

from colbench.errors import DataError


class OpenFile:
    """A file that stays open as long as this object exists. In that time, no other file can get its inode number."""

    def __init__(self, path: Path) -> None:
        """Open a file. Raises DataError if it cannot be read."""
        try:
            self._descriptor = os.open(path, os.O_RDONLY)
        except OSError as cause:
            raise DataError(f"{path}: cannot be read: {cause.strerror}") from cause
        weakref.finalize(self, os.close, self._descriptor)

    def is_at(self, state: os.stat_result) -> bool:
        """Return True if `state` describes this file."""
        return os.path.samestat(os.fstat(self._descriptor), state)
