"""Editing a message in the editor that an environment variable names: VISUAL or, if VISUAL is not set, EDITOR."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from colbench.errors import UserError


def editor() -> list[str]:
    """Return the editor's command; empty if no editor is set. Raises UserError if it is not a valid shell command."""
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        return shlex.split(named)
    except ValueError as cause:
        raise UserError(
            f"the editor `{named}`: {cause}; set VISUAL or EDITOR to another command"
        ) from cause


async def edit(draft: str, suffix: str) -> str:
    """Let the person edit a draft in a temporary file with this suffix, and return the result.

    An editor must be set. Raises UserError if the editor cannot be started, or exits with a nonzero code.
    """
    with _draft(draft, suffix) as file, _left_to_the_editor():
        await _run([*editor(), str(file)])
        return _text(file)


async def _run(command: list[str]) -> None:
    try:
        process = await asyncio.create_subprocess_exec(*command)
    except OSError as cause:
        raise UserError(
            f"the editor `{command[0]}`: cannot be started: {cause.strerror}; set VISUAL or EDITOR to another one"
        ) from cause
    try:
        code = await process.wait()
    finally:
        if process.returncode is None:
            process.terminate()
    if code:
        raise UserError(
            f"the editor `{command[0]}`: exited with code {code}; set VISUAL or EDITOR to another one"
        )


@contextmanager
def _draft(text: str, suffix: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="colbench-") as folder:
        file = Path(folder, f"message{suffix}")
        file.write_text(text, "utf-8")
        yield file


def _text(file: Path) -> str:
    return file.read_text("utf-8", "replace")


@contextmanager
def _left_to_the_editor() -> Iterator[None]:
    """Ignore Ctrl-C while the editor uses the terminal, so that only the editor reacts to it."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
