"""Files that a command writes. Writing is atomic, and replaces an existing file only on request."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from colbench.errors import UserError


def add_overwrite(parser: argparse.ArgumentParser) -> None:
    """Add `--overwrite`, which the errors of `written_whole` mention."""
    parser.add_argument("--overwrite", action="store_true", help="replace the file if it exists")


@contextmanager
def written_whole(path: Path, *, overwrite: bool, flag: str = "--out") -> Iterator[Path]:
    """Yield the path of a temporary file next to `path`. On success it replaces `path`; on an error it is removed.

    Raises UserError, before anything is yielded, if `path` cannot be written, or exists and `overwrite` is False; the
    message names `flag`.
    """
    part = path.parent / f".{path.name}.{os.getpid()}.part"
    try:
        _check(path, overwrite, flag)
        part.touch()
    except OSError as cause:
        raise UserError(f"{flag} {path}: cannot be written: {cause.strerror or cause}") from cause
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _check(path: Path, overwrite: bool, flag: str) -> None:
    if path.is_dir():
        raise UserError(f"{flag} {path}: this is a folder; choose a file in it")
    if not path.parent.is_dir():
        raise UserError(f"{flag} {path}: the folder {path.parent} does not exist")
    if path.exists() and not overwrite:
        raise UserError(f"{flag} {path}: already exists; --overwrite replaces it")
