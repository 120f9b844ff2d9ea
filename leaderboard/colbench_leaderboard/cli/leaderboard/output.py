"""What the actions print: plain lines, in which nothing that somebody sent in means anything to a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colbench.cli.console import console, printable

if TYPE_CHECKING:
    from colbench_leaderboard.store import Record


def say(line: str, style: str = "") -> None:
    """Print a line."""
    console().print(printable(line), style=style, highlight=False, markup=False, soft_wrap=True)


def say_decision(record: Record, head: str) -> None:
    """Say what was decided, and what the log's head is now."""
    say(f"record {record.number}: {record.decision} {record.bundle}")
    say(f"head     {head}", "dim")
