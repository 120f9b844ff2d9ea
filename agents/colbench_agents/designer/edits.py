"""Changing the page as the human wishes."""

from __future__ import annotations

from functools import singledispatch
from itertools import takewhile

from colbench_agents.designer.colors import on
from colbench_agents.designer.find import band_at, by_place, by_text
from colbench_agents.designer.insert import WIDE, insert
from colbench_agents.designer.measure import Layout
from colbench_agents.designer.page import SIZES, Box, Leaf, Page, path, remove
from colbench_agents.designer.wishes import (
    Height,
    Measured,
    Missing,
    Moved,
    Recolored,
    Resized,
    Reworded,
    Surplus,
    Wish,
)

WORDS_FOR_SIZES = {
    "very small": "xs",
    "small": "sm",
    "normal": "base",
    "medium": "lg",
    "large": "2xl",
    "very large": "4xl",
    "huge": "5xl",
}
FILLER = (
    " we are committed to providing the best service to our customers, and our team is here to help"
)


@singledispatch
def apply(wish: Wish, page: Page) -> None:  # noqa: ARG001 - the cases use it
    """Change the page as wished; a wish about something that is not there changes nothing."""
    raise TypeError(type(wish).__name__)


@apply.register
def _(wish: Missing, page: Page) -> None:
    for text in wish.texts:
        there = by_text(page, text, wish.kind)
        if there and there.text == text and there.kind == wish.kind and len(wish.texts) > 1:
            remove(page, there)
    if wish.kind == "box" and (wish.width or 0) >= WIDE:
        band = Box(children=[], background=wish.background, height=wish.height, padding=(16, 16))
        _insert_band(page, band, wish)
        return
    new = [_leaf(wish, text) for text in wish.texts or ("",)]
    thing: Leaf | Box = new[0]
    if wish.columns:
        thing = Box(children=[Box(children=[leaf]) for leaf in new], direction="columns")
    elif len(new) > 1:
        thing = Box(children=[*new], direction="row")
    own = wish.kind in ("button", "input", "box", "picture")
    insert(page, thing, wish.place, None if own else wish.background)


def _insert_band(page: Page, band: Box, wish: Missing) -> None:
    anchor = by_text(page, wish.place.anchor) if wish.place.anchor else None
    here = (path(page, anchor) or [])[0] if anchor else band_at(page, wish.place.spot)
    if here is None:
        page.bands.append(band)
        return
    after = wish.place.relation != "above" and "top" not in wish.place.spot
    where = page.bands.index(here) + after
    there = page.bands[where] if where < len(page.bands) else None
    if there and there.background is None and not there.height:
        there.background, there.height = wish.background, wish.height
    else:
        page.bands.insert(where, band)


def _leaf(wish: Missing, text: str) -> Leaf:
    heading = wish.kind == "heading" or wish.columns
    return Leaf(
        kind="heading" if wish.columns else wish.kind,
        text=_whole(text),
        size=WORDS_FOR_SIZES.get(wish.size, "2xl" if heading else "base"),
        bold=heading or wish.kind == "button",
        color=wish.color,
        background=wish.background if wish.kind in ("button", "input", "box") else None,
        width=wish.width,
        height=wish.height,
        above=8 if wish.kind in ("text", "button", "input") else 0,
        asked=True,
    )


def _whole(text: str) -> str:
    """A text of which only the beginning was said goes on in some way."""
    return text.rstrip("…").rstrip() + FILLER if text.endswith("…") else text


@apply.register
def _(wish: Surplus, page: Page) -> None:
    found = (
        by_text(page, wish.text, wish.kind) if wish.text else by_place(page, wish.kind, wish.place)
    )
    if found:
        for leaf in [found, *_following(page, found)]:
            remove(page, leaf)


def _following(page: Page, heading: Leaf) -> list[Leaf]:
    """What the template put below a heading of its own; it goes with it."""
    holder = (path(page, heading) or [])[-1]
    if heading.kind != "heading" or heading.asked or holder.direction != "column":
        return []
    below = holder.children[holder.children.index(heading) + 1 :]
    texts = (member for member in below if isinstance(member, Leaf))
    return list(takewhile(lambda leaf: leaf.kind == "text" and not leaf.asked, texts))


@apply.register
def _(wish: Reworded, page: Page) -> None:
    leaf = by_text(page, wish.mine, wish.kind)
    if leaf:
        leaf.text, leaf.asked = _whole(wish.theirs), True


@apply.register
def _(wish: Recolored, page: Page) -> None:
    if wish.part == "page":
        page.background = wish.color
        return
    leaf = by_text(page, wish.text, wish.kind) if wish.text else None
    if leaf is None:
        band = band_at(page, wish.spot) if wish.part == "band" else None
        if band:
            _paint(band, wish.color)
    elif wish.part == "text":
        for other in [leaf, *_alike(page, leaf)]:
            other.color = wish.color
    elif wish.part == "background" and leaf.kind in ("button", "input"):
        leaf.background = wish.color
    else:
        around = path(page, leaf) or []
        cards = [box for box in around if box.background and wish.part == "background"]
        _paint(cards[-1] if cards else around[0], wish.color)


def _paint(box: Box, color: str) -> None:
    """Give a box a background, and its text a colour that can be read on it."""
    box.background, box.color = color, on(color)


def _alike(page: Page, leaf: Leaf) -> list[Leaf]:
    """The other links of a row that have the same colour."""
    holder = (path(page, leaf) or [])[-1]
    if leaf.kind != "link" or holder.direction != "row":
        return []
    links = (member for member in holder.children if isinstance(member, Leaf))
    return [link for link in links if link.kind == "link" and link.color == leaf.color]


@apply.register
def _(wish: Resized, page: Page) -> None:
    leaf = by_text(page, wish.text, wish.kind)
    if leaf is None:
        return
    if wish.bold is not None:
        leaf.bold = wish.bold
    names = list(SIZES)
    at = names.index(leaf.size) + wish.steps
    leaf.size = names[min(len(names) - 1, max(0, at))]


@apply.register
def _(wish: Measured, page: Page) -> None:
    leaf = (
        by_text(page, wish.text, wish.kind) if wish.text else by_place(page, wish.kind, wish.place)
    )
    if leaf is None:
        return
    leaf.width, leaf.height = wish.width, wish.height
    for box in path(page, leaf) or []:
        vertical, horizontal = box.padding
        if wish.width + 2 * horizontal > 1280:
            box.padding = (vertical, 0)


@apply.register
def _(wish: Moved, page: Page) -> None:
    leaf = by_text(page, wish.text, wish.kind)
    if leaf is None:
        return
    if wish.place:
        remove(page, leaf)
        insert(page, leaf, wish.place)
    if wish.align:
        holder = (path(page, leaf) or [])[-1]
        if holder.direction == "column":
            leaf.align = wish.align
        else:
            holder.align = wish.align
    leaf.right += wish.right
    _lower(page, leaf, wish.down)


def _lower(page: Page, leaf: Leaf, by: int) -> None:
    """Move a leaf down, and what comes after it; up only as far as there is free space above."""
    moved: Leaf | Box = leaf
    for box in reversed(path(page, leaf) or []):
        if box.direction == "column":
            break
        moved = box
    if by >= 0:
        moved.above += by
        return
    taken = min(moved.above, -by)
    moved.above -= taken
    rest = -by - taken
    for box in reversed(path(page, leaf) or []):
        vertical, horizontal = box.padding
        taken = min(vertical, rest)
        box.padding = (vertical - taken, horizontal)
        rest -= taken
        taken = min(box.above, rest)
        box.above -= taken
        rest -= taken


@apply.register
def _(wish: Height, page: Page) -> None:
    if not page.bands:
        return
    more = wish.wanted - (wish.now or round(Layout(page).height))
    if more > 0:
        page.bands[-1].above += more
        return
    for band in reversed(page.bands):
        taken = min(band.above, -more)
        band.above -= taken
        more += taken
    paddings = sum(2 * band.padding[0] for band in page.bands)
    share = max(0.25, 1 + more / paddings) if paddings else 1
    for band in page.bands:
        band.padding = (round(band.padding[0] * share), band.padding[1])
