"""Markdown in which external text is escaped; numbers are formatted by `colbench.numbers`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from colbench.numbers import NOTHING


def listed(parts: Sequence[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def plain(value: object) -> str:
    """Return a setting as text: `3,400,000`, `0.0003`, `a, b`, `yes`, `key = 1; key = 2`."""
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:g}"
        case dict() | list() | tuple():
            return _several(value) or "none"
        case None | "":
            return "none"
    return str(value)


def _several(values: Mapping[str, object] | Sequence[object]) -> str:
    if isinstance(values, Mapping):
        return ", ".join(f"{key} = {plain(each)}" for key, each in values.items())
    between = "; " if any(isinstance(each, Mapping) for each in values) else ", "
    return between.join(map(plain, values))


def escape(text: str) -> str:
    """Escape text as one line of Markdown, for a paragraph or a table cell."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&$!])", r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """Return a command, a key or a path as Markdown, for a cell of a table."""
    text = " ".join(text.split()).replace("|", "\\|")
    runs = {len(run) for run in re.findall("`+", text)}
    fence = "`" * next(size for size in range(1, len(runs) + 2) if size not in runs)
    room = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{room}{text}{room}{fence}" if text else NOTHING


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown already; columns whose head ends in a space are right-aligned."""
    rule = ["--:" if head.endswith(" ") else "---" for head in heads]
    lines = [[head.strip() for head in heads], rule, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
