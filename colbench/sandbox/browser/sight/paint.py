"""Paint order: the color behind a point, and whether something covers the point."""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator

from msgspec import Struct

from colbench.sandbox.browser.limits import TooBigError
from colbench.sandbox.browser.sight.colors import NOTHING, WHITE, Color, read_color
from colbench.sandbox.browser.sight.layout import SIDES, Item, Rect

Key = tuple[int, int, int]

PICTURES = frozenset(("IMG", "VIDEO", "CANVAS", "IFRAME", "EMBED", "OBJECT", "svg"))
_SHAPES = frozenset(("rect", "path", "polygon", "circle", "ellipse", "image", "foreignObject"))
"""Parts of a drawing (`<svg>`) that may hide what is below them. Each is treated as if it filled its bounding box."""
_OPAQUE = 0.9
_FAINTEST = 0.1
"""Opacity below which something is invisible."""
_LEAST_THROUGH = 1 / 256
_CELL = 8
"""Size in pixels of the cells of a `Raster`."""
_MOST = 3000
"""Maximum number of painted areas; if a page has more, only the largest are used."""
_MOST_LOOKS = 5_000_000
"""Maximum number of painted areas to look at in all lookups of a page.

A table of 1,200 cells with three backgrounds each needs less than two million.
"""
_STRIPE = 64.0
_SHADOW = re.compile(r"((?:rgba?|color|oklab|oklch)\([^()]*\))((?: -?[\d.]+px)+)")


class Paint(Struct, frozen=True, kw_only=True):
    """One painted area, filled with a color or pictures."""

    key: Key
    rect: Rect
    color: Color
    picture: bool = False


def visible(item: Item) -> bool:
    """Return True if an item's own paint is visible, by its CSS visibility and its opacity."""
    return item.style["visibility"] == "visible" and item.opacity >= _FAINTEST


def is_picture(item: Item) -> bool:
    """Return True for an embedded picture or similar element, or an area with a picture in the background."""
    return item.name in PICTURES or "url(" in item.style["background-image"]


def fill(item: Item) -> Color:
    """Return an item's own background: its color, or the color at the start of its gradient."""
    color = read_color(item.style["background-color"])
    if "gradient(" in item.style["background-image"] and item.style["background-clip"] != "text":
        color = read_color(item.style["background-image"]).over(color if color.alpha else WHITE)
    return color.faded(item.opacity)


def has_frame(item: Item, behind: Color) -> bool:
    """Return True if an item's edges are visible: a border on at least three sides, or a shadow."""
    sides = sum(
        item.style[f"border-{side}-style"] not in ("none", "hidden")
        and float(item.style[f"border-{side}-width"].removesuffix("px")) >= 1
        and read_color(item.style[f"border-{side}-color"]).over(behind).contrast(behind) > 8
        for side in SIDES
    )
    shadows = _SHADOW.findall(item.style["box-shadow"])
    return sides >= 3 or any(
        read_color(color).alpha >= 0.04 and re.search(r"[1-9]", lengths)
        for color, lengths in shadows
    )


def page_background(items: Iterable[Item]) -> tuple[Color, Item | None]:
    """Return the page's background and the element that defines it: root, else body (CSS Backgrounds 3, 2.11.2)."""
    for item in [item for item in items if item.name in ("HTML", "BODY")][:2]:
        color = fill(item)
        if color.alpha or item.style["background-image"] != "none":
            return color.over(WHITE), item
    return WHITE, None


class Raster:
    """A grid of cells over a page.

    Each cell contains the number of the topmost opaque area that covers the cell, or 0 if no opaque area covers it.
    """

    def __init__(self, width: int, height: int) -> None:
        self._columns, self._lines = width // _CELL + 1, height // _CELL + 1
        self._rows = [array("i", bytes(4 * self._columns)) for _ in range(self._lines)]

    def paint(self, rect: Rect, number: int) -> None:
        """Write an area's number into all grid cells whose center is in the area."""
        left, right = (self._cell(edge, self._columns) for edge in (rect.left, rect.right))
        top, bottom = (self._cell(edge, self._lines) for edge in (rect.top, rect.bottom))
        line = array("i", [number]) * (right - left)
        if line:
            for row in range(top, bottom):
                self._rows[row][left:right] = line

    def at(self, x: float, y: float) -> int:
        """Return the number in the cell at a point; 0 outside the page."""
        row, column = int(y // _CELL), int(x // _CELL)
        inside = 0 <= row < self._lines and 0 <= column < self._columns
        return self._rows[row][column] if inside else 0

    @staticmethod
    def _cell(edge: float, most: int) -> int:
        return min(most, max(0, math.floor(edge / _CELL + 0.5)))


class Canvas:
    """All painted areas of a page, with lookups of what is painted at a point."""

    def __init__(self, items: Iterable[Item], width: int, height: int) -> None:
        items = list(items)
        self.background, self.lender = page_background(items)
        largest = sorted(self._paints(items), key=lambda paint: -paint.rect.area)[:_MOST]
        paints = sorted(largest, key=lambda paint: paint.key)
        self._keys = [paint.key for paint in paints]
        self._top = Raster(width, height)
        self._stripes: dict[int, list[Paint]] = defaultdict(list)
        self._looks = 0
        for rank, paint in enumerate(paints, start=1):
            first, last = int(paint.rect.top // _STRIPE), int(paint.rect.bottom // _STRIPE)
            for stripe in range(first, last + 1):
                self._stripes[stripe].append(paint)
            if paint.picture or paint.color.alpha >= _OPAQUE:
                self._top.paint(paint.rect, rank)

    def behind(self, x: float, y: float, key: Key) -> tuple[Color, bool]:
        """Return the color at a point from all areas before `key` in paint order, and True if a picture is visible.

        Raises TooBigError after too many lookups in pages with very many layers.
        """
        layers, through, picture = [], 1.0, False
        stripe = self._stripes.get(int(y // _STRIPE), [])
        at = below = bisect_left(stripe, key, key=lambda paint: paint.key)
        for at in range(below - 1, -1, -1):
            paint = stripe[at]
            if through < _LEAST_THROUGH:
                break
            if paint.rect.holds(x, y):
                layers.append(paint.color)
                picture = picture or (paint.picture and through > 1 - _OPAQUE)
                through *= 1 - paint.color.alpha
        self._looks += below - at
        if self._looks > _MOST_LOOKS:
            raise TooBigError("the page has too many areas on top of each other")
        color = self.background
        for layer in reversed(layers):
            color = layer.over(color)
        return color, picture

    def covered(self, rect: Rect, key: Key, share: float = 0.6, grid: int = 3) -> bool:
        """Return True if opaque areas painted after `key` cover at least `share` of the `grid`² points in `rect`."""
        own = bisect_right(self._keys, key)
        hidden = sum(self._top.at(x, y) > own for x, y in rect.points(grid))
        return hidden >= share * grid * grid

    def _paints(self, items: Iterable[Item]) -> Iterator[Paint]:
        for item in items:
            if item is self.lender or not visible(item) or not item.seen.area:
                continue
            color = _flat(item)
            picture = is_picture(item) and item.name != "svg" and item.opacity >= _OPAQUE
            if color.alpha or picture:
                yield Paint(
                    key=_whole(item).paint_key, rect=item.seen, color=color, picture=picture
                )


def _whole(item: Item) -> Item:
    """Return the drawing or form field that contains an item; for any other item, the item itself.

    The parts of a drawing are painted with the key of the drawing, so they never count as covering it.
    """
    while item.hidden and item.parent is not None:
        item = item.parent
    return item


def _flat(item: Item) -> Color:
    if item.name.startswith(("#", "::")) and item.lines:
        return NOTHING
    if item.name in _SHAPES and item.hidden:
        return read_color(item.style["fill"]).faded(item.opacity)
    return fill(item)
