"""The parts of a report in words: facts, and sections of facts."""

from __future__ import annotations

from msgspec import Struct


class Fact(Struct, frozen=True, kw_only=True):
    """One line of a report: a name, a number or another value, and a note."""

    label: str
    value: str
    note: str = ""
    hint: str = ""
    """Explanation of the value; empty if the label is enough."""


class Section(Struct, frozen=True, kw_only=True):
    """A group of related facts."""

    title: str
    facts: tuple[Fact, ...]
    heads: tuple[str, str] = ("", "")
    """Headings of the values and of the notes; two empty strings for a section without headings."""
