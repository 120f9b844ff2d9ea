"""Where the command line prints."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from colbench.command import printable

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["console", "errors", "printable"]


@cache
def console() -> Console:
    """Return the console of standard output; `errors()` is that of standard error."""
    from rich.console import Console

    return Console()


@cache
def errors() -> Console:
    """Return the console of standard error, where progress is shown."""
    from rich.console import Console

    return Console(stderr=True)
