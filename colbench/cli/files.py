"""Files and folders that a command writes: they appear only when complete, and replace a file only on request."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from colbench.errors import UserError


def add_overwrite(parser: argparse.ArgumentParser) -> None:
    """Add `--overwrite`, which the errors of `written_whole` mention."""
    parser.add_argument("--overwrite", action="store_true", help="replace the file if it exists")


@contextmanager
def written_whole(path: Path, *, overwrite: bool, flag: str = "--out") -> Iterator[Path]:
    """Yield the path of a temporary file next to `path`.

    On success, the temporary file replaces `path` or, if `path` is a symbolic link, the target of the link. On an
    error, the temporary file is removed.

    Raises UserError, which names `flag`, before anything is yielded: if `path` cannot be written, if it is not a
    regular file, or if it already exists and `overwrite` is False.
    """
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        _check(path, overwrite, flag)
        part.touch()
    except OSError as cause:
        raise UserError(f"{flag} {path}: cannot be written: {cause.strerror or cause}") from cause
    try:
        yield part
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def _check(path: Path, overwrite: bool, flag: str) -> None:
    if path.is_dir():
        raise UserError(f"{flag} {path}: this is a folder; choose a file in it")
    if not path.parent.is_dir():
        raise UserError(f"{flag} {path}: the folder {path.parent} does not exist")
    if path.exists() and not path.is_file():
        raise UserError(f"{flag} {path}: this is not a regular file; choose another file")
    if path.exists() and not overwrite:
        raise UserError(f"{flag} {path}: already exists; --overwrite replaces it")


@contextmanager
def made_whole(folder: Path, *, flag: str) -> Iterator[Path]:
    """Yield a temporary folder. On success, its files move to `folder`; on an error, the temporary folder is removed.

    Raises UserError, which names `flag`, if `folder` is not empty, or cannot be created or written.
    """
    there = False
    try:
        there = _is_there(folder, flag)
        part = (folder if there else folder.parent) / f".{folder.resolve().name}.{os.getpid()}.part"
        part.mkdir()
    except OSError as cause:
        what = "written" if there else "created"
        raise UserError(f"{flag} {folder}: cannot be {what}: {cause.strerror or cause}") from cause
    try:
        yield part
        if there:  # the folder itself is kept, because a shell may be in it
            for entry in part.iterdir():
                entry.rename(folder / entry.name)
        else:
            part.rename(folder)
    finally:
        with suppress(FileNotFoundError):
            shutil.rmtree(part)


def _is_there(folder: Path, flag: str) -> bool:
    """Return True if the folder exists and is empty, False if it can be created. Raises UserError otherwise."""
    if folder.is_dir():
        if any(folder.iterdir()):
            raise UserError(f"{flag} {folder}: the folder is not empty; use a new or empty folder")
        return True
    if folder.exists():
        raise UserError(f"{flag} {folder}: this is not a folder; use a new or empty folder")
    if not folder.parent.is_dir():
        raise UserError(f"{flag} {folder}: the folder {folder.parent} does not exist")
    return False
