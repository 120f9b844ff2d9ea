"""The type of a section, and helpers for all sections."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from colbench_tasks.frontend.design import Design
from colbench_tasks.frontend.markup import div, element, words
from colbench_tasks.frontend.subjects import Item, Subject

Build = Callable[[Subject, Design], str]


class Section(Struct, frozen=True, kw_only=True):
    """A part of a page."""

    build: Build
    says: str
    """The section's name in everyday words."""
    uses: tuple[str, ...]
    """The decisions that are visible in this section but not on every page."""


SECTIONS: dict[str, Section] = {}
"""Sections by the name of their function."""


def section(says: str, *uses: str, roomy: bool = True) -> Callable[[Build], Build]:
    """Return a decorator that registers a function as a section; the function's name becomes the section's name.

    `says` and `uses`: as in `Section`. `roomy`: True if the section uses the design's spacing.
    """
    shown = (*uses, "room") if roomy else uses

    def register(build: Build) -> Build:
        SECTIONS[build.__name__] = Section(build=build, says=says, uses=shown)
        return build

    return register


def titled(design: Design, title: str, *inside: str) -> str:
    """Build a section in the design's width and spacing; if `title` is empty, the section has no title."""
    head = words("h2", design.title, title) if title else ""
    return element("section", design.space, div(design.inner, head, *inside))


def grid(design: Design, cells: list[str]) -> str:
    """Build a grid with the design's number of columns; cells beyond the last whole row are left out."""
    whole = len(cells) - len(cells) % design.columns
    return div(design.grid, *cells[:whole])


def some(subject: Subject, design: Design) -> tuple[Item, ...]:
    """Return as many items as fill one or two rows of the design's grid."""
    rows = 1 if design.columns == 4 else 1 + subject.variant % 2
    return subject.items[: design.columns * rows]


def muted(design: Design, text: str, classes: str = "") -> str:
    """Build a paragraph of less important text in a box."""
    return words("p", f"{design.muted('card')} {classes}", text)


def name(design: Design, text: str, classes: str = "text-lg mb-2") -> str:
    """Build the heading of an item within a section, such as a product or a question."""
    return words("h3", f"{design.heading} {classes}", text)
