"""The consoles on which the command line prints."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import TYPE_CHECKING

from colbench.command import printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = [
    "add_output_flags", "console", "errors", "inherited_output", "output", "print_document",
    "print_wide", "printable", "settings_for_child",
]  # fmt: skip

WIDTH = 80
"""Minimum width of tables, in characters; a narrower table would lose cells."""

_MODE = {"json": False, "quiet": False}
_INHERITED = "_COLBENCH_OUTPUT"
"""Environment variable that passes the active output flags (`json`, `quiet`) to child processes."""


def add_output_flags(parser: argparse.ArgumentParser, *, document: str) -> None:
    """Add the flags `--json` and `--quiet`. `document` says in the help text what `--json` prints."""
    parser.add_argument(
        "--json",
        action="store_true",
        help=f"print {document} as one JSON document; everything else goes to standard error",
    )
    parser.add_argument(
        "--quiet",
        action="store_true",
        help="print only errors and warnings; with --json, also the document",
    )


@contextmanager
def output(*, as_json: bool, quiet: bool) -> Iterator[None]:
    """Set the output mode in this context.

    `as_json`: `console()` prints to standard error, so that standard output has only JSON. `quiet`: both consoles print
    nothing.
    """
    before = dict(_MODE)
    _set(json=as_json, quiet=quiet)
    try:
        yield
    finally:
        _set(**before)


def settings_for_child() -> dict[str, str]:
    """Return the environment variable that passes this process's output mode to a child; see `inherited_output`."""
    return {_INHERITED: ",".join(flag for flag, value in _MODE.items() if value)}


def inherited_output() -> AbstractContextManager[None]:
    """Return the context `output` with the output mode of the parent process; see `settings_for_child`."""
    flags = os.environ.get(_INHERITED, "").split(",")
    return output(as_json="json" in flags, quiet="quiet" in flags)


def print_document(document: object) -> None:
    """Print a value as one JSON document on standard output."""
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(document, enc_hook=str), indent=2)
    sys.stdout.write(text.decode() + "\n")


def print_wide(shown: RenderableType) -> None:
    """Print a table as wide as the terminal, but at least `WIDTH` characters wide; narrower terminals wrap it."""
    from rich.segment import SegmentLines

    options = console().options.update_width(max(console().width, WIDTH))
    lines = console().render_lines(shown, options, pad=False)
    console().print(SegmentLines(lines, new_lines=True), soft_wrap=True)


def _set(**mode: bool) -> None:
    _MODE.update(mode)
    console.cache_clear()
    errors.cache_clear()


@cache
def console() -> Console:
    """Return the console for results: standard output, or standard error if standard output has a JSON document."""
    from rich.console import Console

    return Console(stderr=_MODE["json"], quiet=_MODE["quiet"])


@cache
def errors() -> Console:
    """Return the console for progress, on standard error."""
    from rich.console import Console

    return Console(stderr=True, quiet=_MODE["quiet"])
