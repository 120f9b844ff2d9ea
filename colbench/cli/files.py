"""Files that a command writes: whole or not at all, and over nothing that is there unless told so."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from colbench.errors import UserError


def add_overwrite(parser: argparse.ArgumentParser) -> None:
    """Add the flag that `written_whole` names."""
    parser.add_argument("--overwrite", action="store_true", help="replace the file if it is there")


@contextmanager
def written_whole(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """A new file beside `path` to write to; it takes the place of `path` when all went well, and else goes.

    Raises UserError that names `--out` at once if it cannot be written, before any work is done for it.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        _check(path, overwrite)
        part.touch()
    except OSError as cause:
        raise UserError(f"--out {path}: cannot be written: {cause.strerror or cause}") from cause
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _check(path: Path, overwrite: bool) -> None:
    if path.is_dir():
        raise UserError(f"--out {path}: that is a folder; name a file in it")
    if not path.parent.is_dir():
        raise UserError(f"--out {path}: there is no folder {path.parent}")
    if path.exists() and not overwrite:
        raise UserError(f"--out {path}: is there already; --overwrite replaces it")
