"""What the actions print: plain lines, in which nothing that somebody sent in means anything to a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colbench.console import console, printable

if TYPE_CHECKING:
    from colbench_leaderboard.receipt import Receipt
    from colbench_leaderboard.store import Record

STYLES = {"refusal": "red", "flag": "yellow"}
"""What is said of a receipt; its notes are for the record."""


def say(line: str, style: str = "") -> None:
    """Print a line."""
    console().print(printable(line), style=style, highlight=False, markup=False, soft_wrap=True)


def say_decision(record: Record, head: str) -> None:
    """Say what was decided, and what the log's head is now."""
    say(f"record {record.number}: {record.decision} {record.bundle}")
    say(f"head     {head}", "dim")


def say_receipt(receipt: Receipt) -> None:
    """Say what was found against a bundle."""
    for found in receipt.findings:
        if style := STYLES.get(found.severity):
            line = f", line {found.line}" if found.line else ""
            place = f"{found.file}{line}: " if found.file else ""
            say(f"{found.severity:<8} {found.rule}: {place}{found.message}", style)
    say(f"tier     {receipt.tier}" if receipt.tier else "refused")
