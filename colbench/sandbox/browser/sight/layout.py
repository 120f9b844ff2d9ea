"""The browser's layout: a tree of items, each with the effects of its ancestors, such as clipping and opacity.

The tree is read from a snapshot that the browser takes (CDP `DOMSnapshot.captureSnapshot`). No code runs in the page,
so the page can neither tamper with the snapshot nor shadow a property.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

SIDES = ("top", "right", "bottom", "left")
STYLES = (
    "display", "position", "visibility", "opacity", "color", "-webkit-text-fill-color", "background-color",
    "background-image", "background-clip", "font-size", "font-weight", "text-align", "overflow-x", "overflow-y",
    "transform", "filter", "clip-path", "box-shadow", "fill", "justify-content",
    *(f"border-{side}-{what}" for side in SIDES for what in ("width", "style", "color")),
)  # fmt: skip
"""Computed styles to request."""
MOST_ITEMS = 10_000
"""Maximum number of items of a page, in document order; further items are ignored."""
_DOT = "\N{BULLET}"
"""Character that a password field shows in place of each typed character."""
_HEADINGS = frozenset(("H1", "H2", "H3", "H4", "H5", "H6"))
_ROLES = {"button": "button", "heading": "heading", "link": "link"}
_ROOTS = ("HTML", "BODY")
_FLEX = ("flex", "inline-flex", "grid", "inline-grid")


class Rect(Struct, frozen=True):
    """An area in CSS pixels from the page's upper left corner; `right` and `bottom` are exclusive."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        """The width, at least 0."""
        return max(0.0, self.right - self.left)

    @property
    def height(self) -> float:
        """The height, at least 0."""
        return max(0.0, self.bottom - self.top)

    @property
    def area(self) -> float:
        """The area in square pixels."""
        return self.width * self.height

    @property
    def middle(self) -> tuple[float, float]:
        """The point in the middle."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def within(self, other: Rect) -> Rect:
        """Return the part of this area that is inside another area; it may be empty."""
        return Rect(
            max(self.left, other.left),
            max(self.top, other.top),
            min(self.right, other.right),
            min(self.bottom, other.bottom),
        )

    def around(self, other: Rect) -> Rect:
        """Return the smallest area that contains both areas."""
        return Rect(
            min(self.left, other.left),
            min(self.top, other.top),
            max(self.right, other.right),
            max(self.bottom, other.bottom),
        )

    def holds(self, x: float, y: float) -> bool:
        """Return True if the point is inside."""
        return self.left <= x < self.right and self.top <= y < self.bottom

    def points(self, count: int) -> Iterable[tuple[float, float]]:
        """Yield a grid of `count` x `count` points inside the area, none of them on the edge."""
        for row in range(count):
            for column in range(count):
                yield (
                    self.left + self.width * (column + 0.5) / count,
                    self.top + self.height * (row + 0.5) / count,
                )


class Line(Struct, frozen=True):
    """The part of a text that is on one line."""

    rect: Rect
    text: str


class Item:
    """A laid-out element, text or pseudo-element, with its parent."""

    def __init__(
        self,
        parent: Item | None,
        *,
        place: int,
        name: str,
        style: Mapping[str, str],
        rect: Rect,
        order: int,
    ) -> None:
        self.place = place
        """The item's index in document order."""
        self.name = name
        self.parent = parent
        self.style = style
        self.rect = rect
        self.attributes: Mapping[str, str] = {}
        self.lines: tuple[Line, ...] = ()
        self.own_text = ""
        """The text shown in a form field: its value, placeholder or selected option; "" for any other item."""
        self.display = style["display"]
        positioned = style["position"] != "static"
        moved = style["transform"] != "none" or style["filter"] != "none"
        self.opacity: float = float(style["opacity"]) * (parent.opacity if parent else 1.0)
        self.clip = _clip(parent, style["position"])
        self.flow_clip = self.clip.within(rect) if self._cuts() else self.clip
        own = positioned or moved or parent is None
        self.absolute_clip: Rect = self.flow_clip if own or not parent else parent.absolute_clip
        self.fixed_clip: Rect = self.flow_clip if moved or not parent else parent.fixed_clip
        self.paint_key = (order, self._phase(order), place)
        """Paint order of the item's background; elements painted later have a larger key."""
        self.heading: Item | None = None
        self.link: Item | None = None
        self.button: Item | None = None
        self.hidden = False
        """True if the item is inside a drawing (`<svg>`) or a field, which counts as a single item."""

    def settle(self, attributes: Mapping[str, str]) -> None:
        """Set the attributes, and derive `heading`, `link`, `button` and `hidden` from them and the parent."""
        self.attributes = attributes
        role = _ROLES.get(attributes.get("role", ""))
        above = self.parent
        self.heading = (
            self if self.name in _HEADINGS or role == "heading" else above and above.heading
        )
        self.link = self if self.name == "A" or role == "link" else above and above.link
        self.button = self if self.name == "BUTTON" or role == "button" else above and above.button
        self.hidden = bool(above and (above.hidden or above.name in ("svg", "SELECT", "TEXTAREA")))

    @property
    def seen(self) -> Rect:
        """The part of the item that is not cut off by an ancestor or the edge of the picture."""
        return self.rect.within(self.clip)

    @property
    def clip_of_text(self) -> Rect:
        """The area to which the item's lines are clipped."""
        return self.parent.flow_clip if self.parent else self.flow_clip

    @property
    def inline(self) -> bool:
        """True if the item is laid out within the lines of its parent."""
        return self.display in ("inline", "contents")

    @property
    def text_key(self) -> tuple[int, int, int]:
        """The paint order of the item's text."""
        return (self.paint_key[0], 2, self.place)

    def _cuts(self) -> bool:
        """Return True if the item clips its content. The overflow of root and body applies to the window instead."""
        if self.name in _ROOTS or self.display == "inline":
            return False
        return self.style["overflow-x"] != "visible" or self.style["overflow-y"] != "visible"

    def _phase(self, order: int) -> int:
        """Return the item's paint phase: in a layer, blocks are painted before inline content (CSS 2.1, appendix E)."""
        above = self.parent
        own = 2 if self.display.startswith("inline") or (above and above.display in _FLEX) else 0
        same = above is not None and above.paint_key[0] == order
        return max(own, above.paint_key[1]) if above and same else own


def _clip(parent: Item | None, position: str) -> Rect:
    if parent is None:
        return Rect(0.0, 0.0, float("inf"), float("inf"))
    if position == "fixed":
        return parent.fixed_clip
    return parent.absolute_clip if position == "absolute" else parent.flow_clip


def read_items(snapshot: Mapping[str, Any], width: float, height: float) -> list[Item]:
    """Return the items of the page's own document in document order, clipped to a picture of this size."""
    return _Reader(snapshot).read(Rect(0.0, 0.0, width, height))


class _Reader:
    """A decoder of the result of `DOMSnapshot.captureSnapshot`, where strings are indices into one list."""

    def __init__(self, snapshot: Mapping[str, Any]) -> None:
        document = snapshot["documents"][0]
        self._strings: list[str] = snapshot["strings"]
        self._nodes = document["nodes"]
        self._layout = document["layout"]
        self._values = self._sparse("inputValue") | self._sparse("textValue")
        self._chosen = set(self._nodes["optionSelected"]["index"])
        self._pseudo = self._sparse("pseudoType")
        self._boxes: dict[int, list[tuple[Rect, int, int]]] = defaultdict(list)
        boxes = document["textBoxes"]
        for row, bounds, start, length in zip(
            boxes["layoutIndex"], boxes["bounds"], boxes["start"], boxes["length"], strict=True
        ):
            self._boxes[row].append((_rect(bounds), start, length))

    def read(self, picture: Rect) -> list[Item]:
        layout = self._layout
        of_node: dict[int, Item] = {}
        items: list[Item] = []
        for place, row in enumerate(self._order()):
            node, values = layout["nodeIndex"][row], layout["styles"][row]
            if not values:
                continue
            parent = of_node.get(node) or self._above(node, of_node)
            style = dict(zip(STYLES, map(self._string, values), strict=True))
            name = self._string(self._nodes["nodeName"][node])
            item = Item(
                parent,
                place=place,
                name=name,
                style=style,
                rect=_rect(layout["bounds"][row]),
                order=layout["paintOrders"][row],
            )
            if parent is None:
                item.flow_clip = item.absolute_clip = item.fixed_clip = picture
            item.settle({} if name == "#text" else self._attributes(node))
            if self._pseudo.get(node) != "marker":
                item.lines = self._lines(row)
            item.own_text = self._field(node, name, item)
            of_node.setdefault(node, item)
            items.append(item)
        return items

    def _order(self) -> Sequence[int]:
        """Return the rows of the layout in document order; in the snapshot, `::after` is before the content."""
        nodes: list[int] = self._layout["nodeIndex"][:MOST_ITEMS]
        parents: list[int] = self._nodes["parentIndex"]
        after = {node for node, kind in self._pseudo.items() if kind == "after"}
        if not after:
            return range(len(nodes))
        last = list(range(len(parents)))
        for node in range(len(parents) - 1, 0, -1):
            last[parents[node]] = max(last[parents[node]], last[node])

        def position(row: int) -> tuple[int, int, int]:
            node = nodes[row]
            return (last[parents[node]], 1, -parents[node]) if node in after else (node, 0, 0)

        return sorted(range(len(nodes)), key=position)

    def _above(self, node: int, of_node: Mapping[int, Item]) -> Item | None:
        """Return the nearest ancestor that is laid out."""
        parents = self._nodes["parentIndex"]
        while node >= 0:
            node = parents[node]
            if node in of_node:
                return of_node[node]
        return None

    def _lines(self, row: int) -> tuple[Line, ...]:
        text = self._string(self._layout["text"][row])
        units = text.encode("utf-16-le", "surrogatepass")
        return tuple(
            Line(rect, units[2 * start : 2 * (start + length)].decode("utf-16-le", "replace"))
            for rect, start, length in self._boxes.get(row, ())
        )

    def _attributes(self, node: int) -> dict[str, str]:
        pairs = list(map(self._string, self._nodes["attributes"][node]))
        return dict(zip(pairs[::2], pairs[1::2], strict=True))

    def _field(self, node: int, name: str, item: Item) -> str:
        if name in ("INPUT", "TEXTAREA"):
            value = self._values.get(node, "")
            if item.attributes.get("type", "").lower() == "password":
                value = _DOT * len(value)
            return value or item.attributes.get("placeholder", "")
        return self._option(node) if name == "SELECT" else ""

    def _option(self, node: int) -> str:
        """Return the text of the selected option of this `<select>`."""
        parents, kinds = self._nodes["parentIndex"], self._nodes["nodeType"]
        for child in range(node + 1, len(parents)):
            if parents[child] < node:
                break
            if kinds[child] == 3 and parents[child] in self._chosen:
                return self._string(self._nodes["nodeValue"][child])
        return ""

    def _sparse(self, name: str) -> dict[int, str]:
        table = self._nodes[name]
        return dict(zip(table["index"], map(self._string, table["value"]), strict=True))

    def _string(self, index: int) -> str:
        return self._strings[index] if index >= 0 else ""


def _rect(bounds: list[float]) -> Rect:
    left, top, width, height = bounds
    return Rect(left, top, left + width, top + height)
