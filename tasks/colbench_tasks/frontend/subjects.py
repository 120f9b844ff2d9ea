"""What pages are about: invented businesses with the words that fill a page."""

from __future__ import annotations

from functools import cache
from importlib import resources

from msgspec import Struct


class Item(Struct, frozen=True):
    """One thing that a business offers or shows."""

    name: str
    number: str
    """A price, a size or an age: whatever is counted there."""
    text: str


class Subject(Struct, frozen=True):
    """A business and its words."""

    name: str
    trade: str
    headline: str
    lead: str
    action: str
    """What its main button says."""
    links: tuple[str, ...]
    items: tuple[Item, ...]


@cache
def subjects() -> tuple[Subject, ...]:
    """All of `subjects.txt`: blocks of a head, a line of links and six items, parted by empty lines."""
    text = resources.files(__package__).joinpath("subjects.txt").read_text(encoding="utf-8")
    return tuple(_subject(block.splitlines()) for block in text.strip().split("\n\n"))


def _subject(lines: list[str]) -> Subject:
    head, links, *items = lines
    name, trade, headline, lead, action = head.split(" | ")
    return Subject(
        name=name,
        trade=trade,
        headline=headline,
        lead=lead,
        action=action,
        links=tuple(links.split(", ")),
        items=tuple(Item(*item.split(" | ")) for item in items),
    )
