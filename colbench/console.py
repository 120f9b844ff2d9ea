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
    """Standard output; `errors()` is standard error."""
    from rich.console import Console

    return Console()


@cache
def errors() -> Console:
    """Standard error, where progress goes."""
    from rich.console import Console

    return Console(stderr=True)
