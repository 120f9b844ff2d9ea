"""The visible text of a page, line by line, with the position and the colors of each line."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice

from msgspec import Struct

from colbench.sandbox.browser.sight.colors import Color, read_color
from colbench.sandbox.browser.sight.ink import TEXT_CONTRAST, Ink
from colbench.sandbox.browser.sight.layout import Item, Line, Rect
from colbench.sandbox.browser.sight.paint import Canvas, Key, visible

_SMALLEST = 5.0
"""Minimum height in pixels of a line that counts as readable."""
_HALF = 0.5
_CELL = 32.0
_MOST_LINES = 5000


class Words(Struct, frozen=True, kw_only=True):
    """The visible part of one line of a text."""

    item: Item
    text: str
    rect: Rect
    color: Color
    behind: Color
    key: Key


def visible_words(items: Iterable[Item], canvas: Canvas, ink: Ink) -> list[Words]:
    """Return the readable lines of all texts, in document order."""
    found = (words for item in items for words in _words(item, canvas, ink))
    return _without_overprinted(list(islice(found, _MOST_LINES)))


def _words(item: Item, canvas: Canvas, ink: Ink) -> Iterator[Words]:
    if not visible(item) or item.hidden or not item.lines:
        return
    for line in item.lines:
        seen = line.rect.within(item.clip_of_text)
        text = _readable(line, seen)
        if not text.strip() or canvas.covered(seen, item.text_key):
            continue
        behind, on_picture = canvas.behind(*seen.middle, item.text_key)
        color = _color(item).over(behind)
        if not on_picture and color.contrast(behind) < TEXT_CONTRAST:
            continue
        if ink.has_text(seen, color, behind, on_picture):
            yield Words(
                item=item, text=text, rect=seen, color=color, behind=behind, key=item.text_key
            )


def _readable(line: Line, seen: Rect) -> str:
    """Return the part of a line's text inside `seen`; "" if `seen` is not tall enough to be read, or has no width."""
    if seen.height < max(_SMALLEST, _HALF * line.rect.height) or not seen.width:
        return ""
    length = len(line.text)
    per_pixel = length / line.rect.width
    start = math.ceil((seen.left - line.rect.left) * per_pixel)
    return line.text[start : length - math.ceil((line.rect.right - seen.right) * per_pixel)]


def _color(item: Item) -> Color:
    """Return the color of the letters; for letters filled with a background gradient, the gradient's first color."""
    above = item
    while above.parent is not None and above.inline and above.style["background-clip"] != "text":
        above = above.parent
    if above.style["background-clip"] == "text" and "gradient(" in above.style["background-image"]:
        return read_color(above.style["background-image"]).faded(item.opacity)
    stroke = item.style["-webkit-text-fill-color"] or item.style["color"]
    return read_color(stroke).faded(item.opacity)


def _without_overprinted(found: list[Words]) -> list[Words]:
    """Return the texts that are not mostly covered by a text painted later."""
    taken: dict[tuple[int, int], list[Rect]] = defaultdict(list)
    kept = []
    for words in sorted(found, key=lambda words: words.key, reverse=True):
        cells = list(_cells(words.rect))
        others = (rect for cell in cells for rect in taken[cell])
        if any(words.rect.within(other).area > _HALF * words.rect.area for other in others):
            continue
        for cell in cells:
            taken[cell].append(words.rect)
        kept.append(words)
    return sorted(kept, key=lambda words: (words.key[2], words.rect.top, words.rect.left))


def _cells(rect: Rect) -> Iterator[tuple[int, int]]:
    for row in range(int(rect.top // _CELL), int(rect.bottom // _CELL) + 1):
        for column in range(int(rect.left // _CELL), int(rect.right // _CELL) + 1):
            yield row, column
