"""What a section is, and what sections have in common."""

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
    """What a person calls it."""
    uses: tuple[str, ...]
    """The decisions that show in it, of those that do not show on every page."""


SECTIONS: dict[str, Section] = {}
"""By the name of their function."""


def section(says: str, *uses: str, roomy: bool = True) -> Callable[[Build], Build]:
    """Make a function a section under its name; `roomy` if it has the design's room around and in it."""
    shown = (*uses, "room") if roomy else uses

    def register(build: Build) -> Build:
        SECTIONS[build.__name__] = Section(build=build, says=says, uses=shown)
        return build

    return register


def titled(design: Design, title: str, *inside: str) -> str:
    """A section with a title (or none) in the design's width and spacing."""
    head = words("h2", design.title, title) if title else ""
    return element("section", design.space, div(design.inner, head, *inside))


def grid(design: Design, cells: list[str]) -> str:
    """Cells in the design's columns, as many as fill whole rows."""
    whole = len(cells) - len(cells) % design.columns
    return div(design.grid, *cells[:whole])


def some(subject: Subject, design: Design) -> tuple[Item, ...]:
    """One row of items or two."""
    rows = 1 if design.columns == 4 else 1 + subject.variant % 2
    return subject.items[: design.columns * rows]


def muted(design: Design, text: str, classes: str = "") -> str:
    """A less important paragraph in a box."""
    return words("p", f"{design.muted('card')} {classes}", text)


def name(design: Design, text: str, classes: str = "text-lg mb-2") -> str:
    """The name of a thing in a box."""
    return words("h3", f"{design.heading} {classes}", text)
