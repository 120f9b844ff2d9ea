"""Names of tracks and verification levels; functions that clean, shorten and format texts for pages."""

from __future__ import annotations

from colbench.command import printable
from colbench_leaderboard.bundle.schema import Track
from colbench_leaderboard.verify.receipt import Level

TRACKS: dict[Track, str] = {"standard": "Standard", "open": "Open"}
LEVELS: dict[Level, str] = {
    "V1": "rescored",
    "V2": "the simulated human was replayed",
    "V3": "rerun by the maintainers",
}
LONGEST = 20_000
"""Maximum number of characters of a single text on a page."""


def clean(value: object) -> object:
    """Return a value with control characters and text-direction marks replaced. Every value on a page is cleaned."""
    return printable(value) if type(value) is str and not value.isprintable() else value


def cut(text: str) -> str:
    """Return a text or, if it is too long, its first `LONGEST` characters and the number of characters left out."""
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n[{len(text) - LONGEST:,} more characters are in the bundle]"


def beginning(text: str, most: int) -> str:
    """Return a text or, if it has more than `most` characters, its first words and an ellipsis."""
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]} …"


def utc(time: str) -> str:
    """Return a time of the log in human-readable form: `2026-01-14 09:30:00 UTC`."""
    return time.replace("T", " ").replace("Z", " UTC")
