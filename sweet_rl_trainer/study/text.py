"""Markdown in which external text is escaped; numbers are formatted by `colbench.numbers`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def escape(text: str) -> str:
    """Escape text as one line of Markdown, for a paragraph or a table cell."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&$!])", r"\\\1", " ".join(text.split()))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table whose cells are Markdown. A column whose head ends in a space is right-aligned."""
    rule = ["--:" if head.endswith(" ") else "---" for head in heads]
    lines = [[head.strip() for head in heads], rule, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
