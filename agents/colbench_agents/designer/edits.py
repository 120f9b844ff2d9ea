"""Functions that change the page as the human wishes, one for each class of wish."""

from __future__ import annotations

from functools import singledispatch
from itertools import cycle, islice

from colbench.pages.render import Align
from colbench_agents.designer.colors import NAMES, mixed, on
from colbench_agents.designer.find import by_place, by_text, zone
from colbench_agents.designer.insert import MARGIN, WIDE, add_area, insert
from colbench_agents.designer.measure import LINE_HEIGHTS, SIZES
from colbench_agents.designer.page import FOLD, WIDTH, Page, Thing
from colbench_agents.designer.paint import paint
from colbench_agents.designer.wishes import (
    Height,
    Lengthened,
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
    "very small": 12,
    "small": 14,
    "normal": 16,
    "medium": 18,
    "large": 24,
    "very large": 36,
    "huge": 48,
}
CUT = 59
"""Length, in characters, from which a quotation that begins with `…` is assumed to be cut off at its end."""
FILLER = (
    "we are committed to providing the best service to our customers, and our team is here to help"
)
QUOTED = 60
"""Maximum length, in characters, of the human's quotations; longer texts are cut at a word boundary."""
LONG_WORDS = ("and", "their", "services", "excellence", "professional", "responsibilities")


@singledispatch
def apply(wish: Wish, page: Page) -> None:  # noqa: ARG001 - the registered functions use it
    """Change the page as wished.

    If the thing to change is not found, the wish has no effect. Exception: `Recolored` then colors the area nearest to
    the wish's place.
    """
    raise TypeError(type(wish).__name__)


@apply.register
def _(wish: Missing, page: Page) -> None:
    if wish.kind == "box":
        _add_area(wish, page)
        return
    if len(wish.texts) > 1 and wish.kind == "link":
        _clear_row(page, wish)
    new = [_thing(wish, text) for text in wish.texts or ("",)]
    if wish.on_picture:
        _back(page)
    own = wish.kind in ("button", "input", "picture")
    insert(page, new, wish.place, None if own else wish.background or page.background)
    for thing in new:
        if not own and wish.background and page.ground(thing) != wish.background:
            paint(page, thing, wish.background)


def _back(page: Page) -> None:
    """Turn the largest picture into a background picture, unless the page already has a background picture."""
    pictures = [one for one in page.contents if one.kind == "picture"]
    if pictures and not any(one.backdrop for one in page.things):
        page.make_backdrop(max(pictures, key=lambda one: one.width * one.height))


def _clear_row(page: Page, wish: Missing) -> None:
    """Remove the template's links from the row in which the human asks for other links."""
    anchor = by_text(page, wish.place.anchor) if wish.place.anchor else None
    if anchor and wish.place.relation in ("left", "right"):
        anchor.asked = True
        row = [one for one in page.contents if abs(one.y - anchor.y) < 12]
        for one in row:
            if one.kind == "link" and not one.asked:
                page.things.remove(one)


def _thing(wish: Missing, text: str) -> Thing:
    heading = wish.kind == "heading"
    return Thing(
        kind=wish.kind,
        text=_whole(text),
        size=WORDS_FOR_SIZES.get(wish.size, 24 if heading else 16),
        bold=heading or wish.kind == "button",
        color=wish.color,
        background=wish.background if wish.kind in ("button", "input") else None,
        width=wish.width or {"input": 400, "picture": 400}.get(wish.kind, WIDTH - 2 * MARGIN),
        height=wish.height or (300 if wish.kind == "picture" else 0),
        asked=True,
    )


def _whole(text: str) -> str:
    """Return a text with filler words in place of a final `…`, which means that the human quoted only the beginning.

    The first filler word is so long that the human's next quotation of this text ends before that word. This text and
    the wanted text then have the same quotation. The human therefore quotes the part in which the two texts differ.
    """
    if not text.endswith("…"):
        return text
    said = text.rstrip("…").rstrip()
    long = next((word for word in LONG_WORDS if len(word) >= QUOTED - len(said)), LONG_WORDS[-1])
    return f"{said} {long} {FILLER}"


def withdraw(page: Page, wish: Missing) -> bool:
    """Remove the texts that an equal, earlier wish inserted, and return True if this wish must be applied again.

    Return False if the wish is already fulfilled: the wish names no text, and the page has a thing of the wished kind
    and size.
    """
    for text in wish.texts:
        there = by_text(page, text, wish.kind)
        if there and there.asked:
            page.things.remove(there)
    alike = (one for one in page.things if one.kind == wish.kind)
    return bool(wish.texts) or not any(
        (round(one.width), round(one.height)) == (wish.width, wish.height) for one in alike
    )


def _add_area(wish: Missing, page: Page) -> None:
    color = wish.background or "#ffffff"
    area = Thing(kind="box", width=wish.width or WIDTH, height=wish.height or 100, asked=True)
    area.edge = color == page.background != NAMES["very light grey"]
    area.background = "#e5e7eb" if color == page.background and not area.edge else color
    add_area(page, area, wish.place)


@apply.register
def _(wish: Surplus, page: Page) -> None:
    found = (
        by_text(page, wish.text, wish.kind) if wish.text else by_place(page, wish.kind, wish.place)
    )
    if found:
        _take_out(page, found)
        page.settle()


def _take_out(page: Page, thing: Thing) -> None:
    """Remove a thing; things below it move up if its line becomes empty."""
    page.things.remove(thing)
    if thing.kind == "box":
        return
    beside = [o for o in page.contents if o.y < thing.bottom - 4 and thing.y + 4 < o.bottom]
    below = [o for o in page.contents if o.y >= thing.bottom - 4]
    if beside or not below:
        return
    above = max((o.bottom for o in page.contents if o.y < thing.y), default=0)
    gaps = (thing.y - above, min(o.y for o in below) - thing.bottom)
    by = thing.height + max(0, min(gaps))
    page.shift(page.below(thing.y), -by)
    page.height = max(FOLD, page.height - by)


@apply.register
def _(wish: Reworded, page: Page) -> None:
    thing = by_text(page, wish.mine, wish.kind)
    if thing:
        theirs = _rest(thing.text, wish.theirs) if wish.theirs.startswith("…") else wish.theirs
        _say(page, thing, _whole(theirs))


def _rest(text: str, part: str) -> str:
    """Return a text with its end replaced by a part.

    The end begins where the first two words of the part occur; if they do not occur, the part is appended.
    """
    words, new = text.split(), part.lstrip("…").split()
    if len(part) >= CUT:
        new = [*new[:-1], FILLER]
    starts = [at for at in range(len(words)) if words[at : at + 2] == new[:2]]
    return " ".join([*words[: starts[0] if starts else len(words)], *new])


@apply.register
def _(wish: Lengthened, page: Page) -> None:
    thing = by_text(page, wish.text, wish.kind)
    if thing and wish.words < 0:
        _say(page, thing, " ".join(thing.text.split()[: wish.words]) or thing.text)
    elif thing:
        _say(page, thing, " ".join([thing.text, *islice(cycle(FILLER.split()), wish.words)]))


def _say(page: Page, thing: Thing, text: str) -> None:
    """Replace the text of a thing; things below it move down or up to fit."""
    before = thing.bottom
    thing.text, thing.asked = text, True
    thing.fit()
    page.shift([one for one in page.below(before) if one is not thing], thing.bottom - before)


@apply.register
def _(wish: Recolored, page: Page) -> None:
    if wish.part == "page":
        page.background = mixed(wish.color, page.background)
        return
    thing = by_text(page, wish.text, wish.kind) if wish.text else None
    if thing is None:
        area = by_place(page, "box", wish.place)
        if area:
            area.background = mixed(wish.color, area.background or page.background)
    elif wish.part == "text":
        color = mixed(wish.color, thing.color or on(page.ground(thing)))
        for other in [thing, *_alike(page, thing)]:
            other.color = color
    elif wish.part == "background" and thing.kind in ("button", "input"):
        thing.background = mixed(wish.color, thing.background or "#ffffff")
    else:
        area, color = page.behind(thing), mixed(wish.color, page.ground(thing))
        if area and color != wish.color:
            area.background = color
        else:
            paint(page, thing, color, card=wish.part == "background")


def _alike(page: Page, thing: Thing) -> list[Thing]:
    """Return a link and all links of the same color in its row; an empty list if the thing is not a link."""
    return [
        one
        for one in page.contents
        if thing.kind == one.kind == "link"
        and abs(one.y - thing.y) < 4
        and one.color == thing.color
    ]


@apply.register
def _(wish: Resized, page: Page) -> None:
    thing = by_text(page, wish.text, wish.kind)
    if thing is None:
        return
    if wish.bold is not None:
        thing.bold = wish.bold
    at = SIZES.index(thing.size) + wish.steps
    thing.size = SIZES[min(len(SIZES) - 1, max(0, at))]
    before = thing.bottom
    thing.fit()
    if thing.bottom > before:
        page.shift([one for one in page.below(before) if one is not thing], thing.bottom - before)


@apply.register
def _(wish: Measured, page: Page) -> None:
    thing = (
        by_text(page, wish.text, wish.kind) if wish.text else by_place(page, wish.kind, wish.place)
    )
    if thing is None:
        return
    more = wish.height - thing.height
    if thing.kind == "picture":
        page.shift([one for one in page.below(thing.bottom) if one is not thing], more)
    center = thing.middle[0]
    thing.width, thing.height = wish.width, wish.height
    thing.x = 0 if wish.width >= WIDE else max(0.0, center - wish.width / 2)
    page.settle()


@apply.register
def _(wish: Moved, page: Page) -> None:
    thing = (
        by_text(page, wish.text, wish.kind) if wish.text else by_place(page, wish.kind, wish.now)
    )
    if thing is None:
        return
    if wish.place and wish.place.spot and zone(page, thing) in wish.place.spot:
        _across(page, thing, wish.place.spot)
    elif wish.place:
        page.things.remove(thing)
        insert(page, [thing], wish.place)
    if wish.align:
        _align(page, thing, wish.align)
    thing.x += wish.right
    if wish.alone:
        thing.y += wish.down
    else:
        _lower(page, thing, wish.down)
    thing.y = max(0, thing.y)
    page.settle()


def _across(page: Page, thing: Thing, words: str) -> None:
    """Move a thing horizontally, as `words` say: to the left, the right or the middle."""
    align: Align = "left" if "left" in words else "right" if "right" in words else "center"
    _align(page, thing, align)


def _align(page: Page, thing: Thing, align: Align) -> None:
    """Align a text within its frame, or another thing within the page; all links of a row move together."""
    if thing.kind in ("heading", "text"):
        thing.align = align
        if thing.height <= LINE_HEIGHTS[thing.size]:
            thing.x, thing.width = MARGIN, WIDTH - 2 * MARGIN
        return
    row = [thing]
    if thing.kind == "link":
        row = [one for one in page.contents if one.kind == "link" and abs(one.y - thing.y) < 4]
    left = min(one.x for one in row)
    width = max(one.x + one.width for one in row) - left
    free = WIDTH - 2 * MARGIN - width
    start = MARGIN + {"left": 0.0, "center": free / 2, "right": free}[align]
    for one in row:
        one.x += start - left


def _lower(page: Page, thing: Thing, by: int) -> None:
    """Move a thing down by `by` (up if negative), together with the rest of its line and everything below."""
    if by:
        line = [o for o in page.contents if o.y < thing.bottom and thing.y < o.bottom]
        below = page.below(min(o.y for o in line))
        page.shift({id(o): o for o in [*line, *below]}.values(), by)


@apply.register
def _(wish: Height, page: Page) -> None:
    more = wish.wanted - (wish.now or page.height)
    foot = [area for area in page.areas if area.bottom >= page.height - 1 and area.width >= WIDE]
    if foot:
        top = max(area.y for area in foot)
        page.shift(page.below(top), max(more, _lowest(page, top) - top))
    page.height = max(page.height + more, _lowest(page, page.height))


def _lowest(page: Page, above: float) -> float:
    """Return the position of the lowest bottom edge of all contents that begin above the vertical position `above`."""
    return max((one.bottom for one in page.contents if one.y < above), default=0)
