"""The designer's model of a page: things at positions, as on a drawing board.

Every thing has its own frame, so a comment about one thing does not affect the others. Inserting or removing a thing
moves everything below it, as in a normal page.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from colbench.pages.render import Align, BlockKind
from colbench_agents.designer.measure import LINE_HEIGHTS, text_height, text_width

WIDTH = 1280
FOLD = 720
"""Height of the window in pixels; a page is at least as tall."""


class Thing(Struct, kw_only=True, eq=False):
    """A visible element, such as a heading, a link or an area, with its position on the page in pixels."""

    kind: BlockKind
    x: float = 0
    y: float = 0
    width: float = 0
    height: float = 0
    text: str = ""
    size: int = 16
    bold: bool = False
    align: Align = "left"
    """Alignment of text in its frame."""
    color: str | None = None
    """The color of the text; None: any color that is readable on its background."""
    background: str | None = None
    """Background of areas, buttons and input fields."""
    edge: bool = False
    """True if a shadow separates an area from its background."""
    backdrop: bool = False
    """True for a picture that is behind other things."""
    asked: bool = False
    """True if the human requested the thing; otherwise it belongs to the template."""

    @property
    def bottom(self) -> float:
        """Bottom edge of the thing."""
        return self.y + self.height

    @property
    def middle(self) -> tuple[float, float]:
        """The position of the thing's center, horizontally and vertically."""
        left, right = self.span
        return (left + right) / 2, self.y + self.height / 2

    @property
    def span(self) -> tuple[float, float]:
        """The visible left and right edges; for text, these are the edges of the words, not of the frame."""
        if self.kind not in ("heading", "text", "link"):
            return self.x, self.x + self.width
        own = min(self.width, text_width(self.text, self.size, bold=self.bold))
        free = self.width - own
        left = self.x + {"left": 0.0, "center": free / 2, "right": free}[self.align]
        return left, left + own

    def fit(self) -> None:
        """Set the dimensions that follow from kind and text, such as the height of a text or the width of a link."""
        words = text_width(self.text, self.size, bold=self.bold)
        if self.kind == "link":
            self.width, self.height = words, LINE_HEIGHTS[self.size]
        if self.kind == "button":
            self.width, self.height = words + 32, 40
        if self.kind == "input":
            self.height = 42
        if self.kind in ("heading", "text"):
            self.height = text_height(self.text, self.size, self.width, bold=self.bold)


class Page(Struct, kw_only=True):
    """A whole page."""

    things: list[Thing]
    background: str = "#ffffff"
    height: float = FOLD

    @property
    def areas(self) -> list[Thing]:
        """The areas, from back to front."""
        return [thing for thing in self.things if thing.kind == "box"]

    @property
    def contents(self) -> list[Thing]:
        """All things except areas and backdrops."""
        return [thing for thing in self.things if thing.kind != "box" and not thing.backdrop]

    def behind(self, thing: Thing) -> Thing | None:
        """Return the frontmost area behind the center of a thing; None if only the page is behind it."""
        x, y = thing.middle
        on = [area for area in self.areas if area is not thing and _covers(area, x, y)]
        return on[-1] if on else None

    def ground(self, thing: Thing) -> str:
        """Return the background color behind a thing on the page."""
        area = self.behind(thing)
        return area.background or self.background if area else self.background

    def add(self, thing: Thing) -> None:
        """Add a thing to the page. Areas and backdrops are behind all contents, the largest of them furthest back."""
        self.things.append(thing)
        self.things.sort(key=_depth)

    def make_backdrop(self, picture: Thing) -> None:
        """Turn a picture into a backdrop. Everything below the picture moves up by its height, onto the picture."""
        below = [one for one in self.below(picture.bottom) if one is not picture]
        self.shift(below, -picture.height)
        picture.backdrop, picture.asked = True, True
        self.things.sort(key=_depth)
        self.settle()

    def shift(self, things: Iterable[Thing], by: float) -> None:
        """Move things down, or up if `by` is negative.

        If an area contains one of these things, but is not moved itself, the area's height changes by the same amount.
        """
        moved = list(things)
        ids = set(map(id, moved))
        for area in self.areas:
            inside = [one for one in self.contents if self.behind(one) is area]
            if id(area) not in ids and any(id(one) in ids for one in inside):
                area.height = max(1, area.height + by)
        for thing in moved:
            thing.y = max(0, thing.y + by)

    def below(self, y: float) -> list[Thing]:
        """Return everything that begins at or below a vertical position."""
        return [thing for thing in self.things if thing.y >= y]

    def settle(self) -> None:
        """Increase the page's height, if necessary, to contain all things; never reduce it."""
        lowest = max((thing.bottom for thing in self.things), default=0)
        self.height = max(self.height, lowest)


def overlap(one: Thing, other: Thing) -> bool:
    """Return True if two things overlap."""
    (left, right), (other_left, other_right) = one.span, other.span
    across = left < other_right and other_left < right
    return across and one.y < other.bottom and other.y < one.bottom


def _covers(area: Thing, x: float, y: float) -> bool:
    return area.x <= x <= area.x + area.width and area.y <= y <= area.bottom


def _depth(thing: Thing) -> float:
    """Return the sort key of the painting order: areas and backdrops from large to small, then everything else."""
    behind = thing.kind == "box" or thing.backdrop
    return -thing.width * thing.height if behind else 0
