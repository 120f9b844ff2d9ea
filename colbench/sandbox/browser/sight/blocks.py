"""The visible blocks of a page: its texts, links, buttons, fields, pictures and areas, as a person sees them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from colbench.pages.render import Align, Block, BlockKind
from colbench.sandbox.browser.sight.colors import Color, read_color
from colbench.sandbox.browser.sight.ink import AREA_CONTRAST, Ink
from colbench.sandbox.browser.sight.layout import Item, Rect, read_items
from colbench.sandbox.browser.sight.paint import Canvas, fill, has_frame, is_picture, visible
from colbench.sandbox.browser.sight.words import Words, visible_words

MOST_BLOCKS = 2000
_ENOUGH = 2 * MOST_BLOCKS
"""Maximum number of blocks to look for, in document order; the topmost `MOST_BLOCKS` of them are used."""
MOST_CHARS = 2000
"""Maximum number of characters of a block's text."""
_MOST_ALT = 200
_SMALLEST = 8
"""Minimum width and height of a picture or an area in pixels."""
_SMALLEST_AREA = 400
_FIELDS = frozenset(("INPUT", "TEXTAREA", "SELECT"))
_BUTTONS = frozenset(("submit", "button", "reset"))
_WORDLESS = frozenset(("checkbox", "radio", "range", "color"))
_LINE = 20
_LINES = 0.6
"""Minimum vertical distance between the middles of texts on different lines, as a share of the first text's height."""
_BOLD = 600
_NARROWEST_LETTER = 0.3
"""Width of the narrowest letter as a share of the font size. It limits how much text a field can show."""
_LARGEST_BUTTON = (600, 100)
_ALIGNS: dict[str, Align] = {
    "center": "center", "-webkit-center": "center", "right": "right", "end": "right", "-webkit-right": "right",
}  # fmt: skip


def blocks_of(snapshot: Mapping[str, Any], picture: bytes) -> tuple[str, tuple[Block, ...]]:
    """Return the page's background color and its visible blocks in reading order.

    Raises TooBigError if the page has too many areas on top of each other.
    """
    ink = Ink(picture)
    items = read_items(snapshot, *ink.size)
    canvas = Canvas(items, *ink.size)
    return canvas.background.hex, _Looker(items, canvas, ink).blocks()


class _Looker:
    """A converter of the items of a layout into the blocks that are visible in the picture."""

    def __init__(self, items: list[Item], canvas: Canvas, ink: Ink) -> None:
        self._items = items
        self._canvas = canvas
        self._ink = ink

    def blocks(self) -> tuple[Block, ...]:
        """Return the blocks, sorted by y, then x."""
        found: list[Block] = []
        buttons: dict[int, list[Words]] = defaultdict(list)
        drawn = set()
        for owner, words in _runs(visible_words(self._items, self._canvas, self._ink)):
            if self._is_button(owner, words):
                buttons[owner.place] += words
                drawn.add(owner.place)
            else:
                found.append(_text_block(owner, words))
        for item in self._items:
            if len(found) < _ENOUGH and visible(item) and not item.hidden:
                found += self._from_item(item, buttons.get(item.place, []), item.place in drawn)
        found.sort(key=lambda block: (block.y, block.x, -block.width * block.height))
        return tuple(found[:MOST_BLOCKS])

    def _from_item(self, item: Item, words: list[Words], is_button: bool) -> Iterator[Block]:
        if item.lines or item.name.startswith("#"):
            return
        if is_button or item.button is item:
            yield from self._button(item, words)
        elif item.name in _FIELDS:
            yield from self._field(item)
        elif item is self._canvas.lender and not is_picture(item):
            return
        elif is_picture(item):
            yield from self._picture(item)
        else:
            yield from self._box(item)

    def _is_button(self, owner: Item, words: list[Words]) -> bool:
        """Return True for a button, or for a link that looks like a button."""
        if owner.button is owner:
            return True
        seen, text = owner.seen, _around(words)
        if (
            owner.link is not owner
            or seen.width > _LARGEST_BUTTON[0]
            or seen.height > _LARGEST_BUTTON[1]
        ):
            return False
        roomy = seen.width >= text.width + 12 and seen.height >= text.height + 6
        return roomy and self._stands_out(owner)

    def _stands_out(self, item: Item) -> bool:
        behind, _ = self._canvas.behind(*item.seen.middle, item.paint_key)
        own = fill(item).over(behind)
        return own.contrast(behind) >= AREA_CONTRAST or has_frame(item, behind)

    def _button(self, item: Item, words: list[Words]) -> Iterator[Block]:
        if words:
            rect = item.seen.around(_around(words))
            looks = _Looks(item, words[0].color, words[0].behind)
            yield looks.block("button", rect, _joined(words))
        elif self._has_area(item):
            yield self._looks(item).block("button", item.seen)

    def _field(self, item: Item) -> Iterator[Block]:
        kind = item.attributes.get("type", "").lower() if item.name == "INPUT" else ""
        if kind == "image":
            yield from self._picture(item)
        elif self._has_area(item):
            letters = item.seen.width / (_NARROWEST_LETTER * max(1.0, font_size(item)))
            fits = int(letters * max(1.0, item.seen.height / _LINE))
            text = "" if kind in _WORDLESS else item.own_text[:fits]
            yield self._looks(item).block(
                "button" if kind in _BUTTONS else "input", item.seen, text
            )

    def _picture(self, item: Item) -> Iterator[Block]:
        if self._has_area(item):
            name = item.attributes.get("alt") or item.attributes.get("aria-label") or ""
            behind, _ = self._canvas.behind(*item.seen.middle, item.paint_key)
            looks = _Looks(item, read_color(item.style["color"]), behind)
            yield looks.block("picture", item.seen, name[:_MOST_ALT])

    def _box(self, item: Item) -> Iterator[Block]:
        seen = item.seen
        if min(seen.width, seen.height) < _SMALLEST or seen.area < _SMALLEST_AREA:
            return
        if not self._stands_out(item) or self._canvas.covered(seen, item.paint_key, 1.0, 5):
            return
        looks = self._looks(item)
        framed = has_frame(item, looks.behind)
        gradient = "gradient(" in item.style["background-image"]
        shown = framed or self._ink.ends(seen, looks.behind)
        if shown and (gradient or self._ink.has_color(seen, looks.behind)):
            yield looks.block("box", seen)

    def _has_area(self, item: Item) -> bool:
        """Return True if the item is large enough, is not covered, and stands out in the picture."""
        seen = item.seen
        if min(seen.width, seen.height) < _SMALLEST or self._canvas.covered(
            seen, item.paint_key, 1.0, 5
        ):
            return False
        behind, _ = self._canvas.behind(*seen.middle, item.paint_key)
        return self._ink.varies(seen, behind)

    def _looks(self, item: Item) -> _Looks:
        """Return the appearance of an item: its text color, and its background blended with what lies behind it."""
        behind, _ = self._canvas.behind(*item.seen.middle, item.paint_key)
        return _Looks(item, read_color(item.style["color"]), fill(item).over(behind))


class _Looks(Struct, frozen=True):
    """The appearance of an element, for its block."""

    item: Item
    color: Color
    behind: Color

    def block(self, kind: BlockKind, rect: Rect, text: str = "", align: str = "") -> Block:
        """Return a block with this appearance at this position."""
        left, top = round(rect.left), round(rect.top)
        style = self.item.style
        return Block(
            kind=kind,
            x=left,
            y=top,
            width=round(rect.right) - left,
            height=round(rect.bottom) - top,
            text=text[:MOST_CHARS],
            color="#000000" if kind == "box" else self.color.over(self.behind).hex,
            background=self.behind.hex,
            font_size=round(font_size(self.item), 1),
            bold=float(style["font-weight"]) >= _BOLD,
            align=_ALIGNS.get(align or style["text-align"], "left"),
        )


def _runs(found: Iterable[Words]) -> Iterator[tuple[Item, list[Words]]]:
    """Yield each heading, link, button or paragraph with its texts, in document order.

    In a row of links, the texts between the links are left out if they are only separators.
    """
    found = list(found)
    prose = {
        id(_container(words.item))
        for words in found
        if words.item.link is None and any(map(str.isalnum, words.text))
    }
    linked = {id(_container(words.item)) for words in found if words.item.link}
    last: Item | None = None
    runs: list[tuple[Item, list[Words]]] = []
    for words in found:
        container = _container(words.item)
        if words.item.link is None and id(container) in linked and id(container) not in prose:
            continue
        owner = _owner(words.item, container, id(container) in prose)
        if owner is not last:
            runs.append((owner, []))
        runs[-1][1].append(words)
        last = owner
    yield from runs


def _owner(item: Item, container: Item, in_prose: bool) -> Item:
    """Return the element that a text belongs to: its button, else its heading, else its link, else its block.

    A link does not count if it is part of running text or is a tall block.
    """
    if item.button or item.heading:
        return item.button or item.heading or container
    link = item.link
    if (
        link
        and not (in_prose and link.inline)
        and (link.inline or link.seen.height <= _LARGEST_BUTTON[1])
    ):
        return link
    return container


def _container(item: Item) -> Item:
    """Return the nearest block that contains an item's lines."""
    above = item.parent or item
    while above.inline and above.parent is not None:
        above = above.parent
    return above


def _text_block(owner: Item, words: list[Words]) -> Block:
    kind: BlockKind = "text"
    if owner.heading is owner:
        kind = "heading"
    elif owner.link is owner:
        kind = "link"
    longest = max(words, key=lambda words: len(words.text))
    looks = _Looks(longest.item, longest.color, longest.behind)
    return looks.block(kind, _around(words), _joined(words), owner.style["text-align"])


def _joined(words: list[Words]) -> str:
    """Join texts and collapse white space. A space precedes a text on a new line or after a gap."""
    parts: list[str] = []
    last: Words | None = None
    for now in words:
        broken = last is not None and (
            abs(now.rect.middle[1] - last.rect.middle[1]) > _LINES * last.rect.height
            or now.rect.left > last.rect.right + 2
        )
        parts += [" ", now.text] if broken else [now.text]
        last = now
    return " ".join("".join(parts).split())


def _around(words: list[Words]) -> Rect:
    rect = words[0].rect
    for one in words[1:]:
        rect = rect.around(one.rect)
    return rect


def font_size(item: Item) -> float:
    """Return an item's font size in CSS pixels."""
    return float(item.style["font-size"].removesuffix("px"))
