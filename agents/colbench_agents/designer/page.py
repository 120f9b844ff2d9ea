"""The designer's own model of a page: bands from top to bottom, in them columns and rows of leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from colbench.pages.render import Align, BlockKind

SIZES = {
    "xs": 12,
    "sm": 14,
    "base": 16,
    "lg": 18,
    "xl": 20,
    "2xl": 24,
    "3xl": 30,
    "4xl": 36,
    "5xl": 48,
    "6xl": 60,
    "7xl": 72,
}
"""Tailwind's text sizes in pixels, from small to large."""


class Leaf(Struct, kw_only=True, eq=False):
    """One thing that is seen. Lengths in pixels; None is left to the browser."""

    kind: BlockKind
    text: str = ""
    size: str = "base"
    bold: bool = False
    color: str | None = None
    background: str | None = None
    width: int | None = None
    height: int | None = None
    align: Align | None = None
    above: int = 0
    """Free space above, may be negative."""
    right: int = 0
    """How far it is moved to the right."""
    asked: bool = False
    """Whether the human asked for it; otherwise it is the template's."""


class Box(Struct, kw_only=True, eq=False):
    """A column or a row of leaves and other boxes. A box among the page's own is a band: it is as wide as the page."""

    children: list[Leaf | Box]
    direction: Literal["column", "row", "columns"] = "column"
    """`columns` is a row whose members are equally wide."""
    background: str | None = None
    color: str | None = None
    align: Align = "left"
    spread: bool = False
    """Whether a row's members stand as far apart as they can."""
    padding: tuple[int, int] = (0, 0)
    """Above and below, left and right."""
    width: int | None = None
    height: int | None = None
    """At least so high."""
    above: int = 0


class Page(Struct, kw_only=True):
    """A whole page."""

    bands: list[Box]
    background: str = "#ffffff"
    color: str = "#000000"


Holder = Page | Box


def members(holder: Holder) -> Sequence[Leaf | Box]:
    """What is directly inside."""
    return holder.bands if isinstance(holder, Page) else holder.children


def leaves(holder: Holder) -> Iterator[Leaf]:
    """Every leaf in reading order."""
    for member in members(holder):
        if isinstance(member, Leaf):
            yield member
        else:
            yield from leaves(member)


def path(holder: Holder, wanted: Leaf | Box) -> list[Box] | None:
    """The boxes around something, the band first; None if it is not there."""
    for member in members(holder):
        if member is wanted:
            return []
        if isinstance(member, Box):
            inner = path(member, wanted)
            if inner is not None:
                return [member, *inner]
    return None


def remove(page: Page, wanted: Leaf | Box) -> None:
    """Take something out, and with it every box that is left without content or height."""
    for box in reversed(path(page, wanted) or []):
        box.children.remove(wanted)
        if box.children or box.height:
            return
        wanted = box
    if isinstance(wanted, Box):
        page.bands.remove(wanted)
