"""Insertion of new things next to existing ones; things below move down to make room."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from colbench_agents.designer.find import by_text, spot
from colbench_agents.designer.measure import text_width
from colbench_agents.designer.page import WIDTH, Page, Thing, overlap
from colbench_agents.designer.wishes import Place

MARGIN = 16
COLUMN = 200
"""Minimum width of a column of text."""
WIDE = 1200
"""Minimum width of things that span the page from edge to edge."""


def insert(page: Page, new: Sequence[Thing], place: Place, ground: str | None = None) -> None:
    """Insert things side by side at a place.

    `ground`: the background color that the things need; None if any color will do.
    """
    anchor = by_text(page, place.anchor) if place.anchor else None
    beside = anchor is not None and place.relation in ("left", "right")
    home = None if beside else _home(page, anchor, ground)
    if home:
        _into(page, new, home)
    elif anchor is None:
        _at_spot(page, new, place.spot, ground)
    elif place.relation in ("left", "right"):
        _beside(page, new, anchor, to_right=place.relation == "right")
    elif place.relation == "above":
        top = _head(page, anchor, ground)
        _line(new, anchor, top - _height(new) - 8)
        if any(overlap(one, other) for one in new for other in page.contents) or new[0].y < 0:
            _line(new, anchor, top)
            page.shift(page.below(top), _height(new) + MARGIN)
    else:
        _line(new, anchor, _foot(page, anchor, ground))
    for thing in new:
        thing.y = max(0, thing.y)
        _make_room(page, thing)
        page.add(thing)
    page.settle()


def _home(page: Page, anchor: Thing | None, ground: str | None) -> Thing | None:
    """Return the area for new elements: the lowest full-width area with the background color `ground`.

    Return None if no such area exists, or if `ground` is None, the page's color, or the color behind `anchor`.
    """
    if ground in (None, page.background) or (anchor and page.ground(anchor) == ground):
        return None
    areas = [area for area in page.areas if area.background == ground and area.width >= WIDE]
    return max(areas, key=lambda area: area.y, default=None)


def _into(page: Page, new: Sequence[Thing], area: Thing) -> None:
    """Insert things below the contents of an area; extend the area if they do not fit."""
    inside = [one for one in page.contents if page.behind(one) is area]
    top = max((one.bottom for one in inside), default=area.y + 8) + 8
    _spread(new, MARGIN, WIDTH - 2 * MARGIN, "left", top)
    more = top + _height(new) + MARGIN - area.bottom
    if more > 0:
        page.shift(page.below(area.bottom), more)
        area.height += more


def add_area(page: Page, area: Thing, place: Place) -> None:
    """Insert an area behind existing things, and remove the template's areas in the same place."""
    anchor = by_text(page, place.anchor) if place.anchor else None
    x, y = spot(page, place.spot)
    if anchor:
        under = page.behind(anchor)
        x, y = anchor.middle
        if place.relation == "above":
            area.y = (under.y if under else anchor.y - 8) - area.height
        elif place.relation in ("left", "right"):
            area.y = anchor.y - MARGIN
            x = anchor.span[1] + MARGIN + area.width / 2
            if place.relation == "left":
                x = anchor.span[0] - MARGIN - area.width / 2
        else:
            area.y = under.bottom if under and under.height < 400 else anchor.bottom + 8
    else:
        area.y = y - area.height / 2
        if "top" in place.spot and area.height < page.height / 3:
            area.y = 0
        if "bottom" in place.spot:
            area.y = page.height - area.height
    area.x = 0 if area.width >= WIDE else _within(x - area.width / 2, area.width)
    area.y = max(0, area.y)
    for other in page.areas:
        if not other.asked and _same_place(area, other):
            page.things.remove(other)
    page.add(area)
    page.settle()


def _foot(page: Page, anchor: Thing, ground: str | None) -> float:
    """Return the y at which things below an anchor begin.

    This y is usually below the anchor. If `ground` is given, and the area behind the anchor has another color and is
    less than 400 pixels tall, the y is below that area.
    """
    area = page.behind(anchor)
    if area and ground and area.background != ground and area.height < 400:
        return area.bottom + MARGIN
    return anchor.bottom + (8 if anchor.kind == "heading" else MARGIN)


def _head(page: Page, anchor: Thing, ground: str | None) -> float:
    """Return the y at which things above an anchor end.

    This y is usually the anchor's top. If `ground` is given, and the area behind the anchor has another color and is
    less than 400 pixels tall, the y is the top of that area.
    """
    area = page.behind(anchor)
    other = area and ground and area.background != ground and area.height < 400
    return area.y if area and other else anchor.y


def _line(new: Sequence[Thing], anchor: Thing, y: float) -> None:
    """Arrange things in a row at the vertical position `y`.

    The row is as wide as the anchor if the anchor is a wide text or heading, else as wide as the page.
    """
    left, width, align = anchor.x, anchor.width, anchor.align
    if anchor.kind not in ("heading", "text") or width < COLUMN:
        left, width, align = MARGIN, WIDTH - 2 * MARGIN, "left"
    _spread(new, left, width, align, y)


def _spread(new: Sequence[Thing], left: float, width: float, align: str, y: float) -> None:
    for number, thing in enumerate(new):
        thing.y = y
        if thing.kind in ("heading", "text"):
            column = (width + MARGIN) / len(new)
            thing.x, thing.width = left + number * column, column - MARGIN
            thing.align = align if len(new) == 1 else "left"  # type: ignore[assignment]
        thing.fit()
    flat = [thing for thing in new if thing.kind not in ("heading", "text")]
    total = sum(thing.width for thing in flat) + MARGIN * (len(flat) - 1)
    at = left + {"left": 0.0, "center": (width - total) / 2, "right": width - total}[align]
    for thing in flat:
        thing.x = 0 if thing.width >= WIDE else _within(at, thing.width)
        at += thing.width + MARGIN


def _beside(page: Page, new: Sequence[Thing], anchor: Thing, *, to_right: bool) -> None:
    """Place things to the right or left of an anchor, on its line; texts get columns of their own."""
    if new[0].kind in ("heading", "text") and anchor.kind in ("heading", "text"):
        _columns(page, new, anchor, to_right=to_right)
        return
    for thing in new:
        thing.width = thing.width if thing.kind in ("picture", "input") else 0
        thing.width = thing.width or text_width(thing.text, thing.size, bold=thing.bold) + 2
        thing.fit()
        low = thing.kind == "picture" or thing.height > 60
        thing.y = anchor.y + (0 if low else (anchor.height - thing.height) / 2)
    total = sum(thing.width + MARGIN for thing in new)
    left, right = anchor.span
    at = right + MARGIN if to_right else left - total
    if new[0].kind == "link":
        at = _push_aside(page, anchor, at, total, to_right=to_right)
    for thing in new:
        thing.x = _within(at, thing.width)
        at += thing.width + MARGIN


def _columns(page: Page, new: Sequence[Thing], anchor: Thing, *, to_right: bool) -> None:
    """Place texts next to an anchor. If the anchor is wide, make room by narrowing it and the rest of its section."""
    if anchor.width > WIDTH / 2:
        column = [one for one in page.contents if one.x == anchor.x and one.width == anchor.width]
        width = (anchor.width + MARGIN) / (len(new) + 1) - MARGIN
        for one in _section(column, anchor):
            one.x += 0 if to_right else len(new) * (width + MARGIN)
            one.width = width
            one.fit()
    step = anchor.width + MARGIN
    for number, thing in enumerate(new, start=1):
        thing.x = anchor.x + step * (number if to_right else number - len(new) - 1)
        thing.width = max(COLUMN, min(anchor.width, WIDTH - MARGIN - thing.x))
        thing.x = _within(thing.x, thing.width)
        thing.y, thing.align = anchor.y, anchor.align
        thing.fit()


def _section(column: Sequence[Thing], anchor: Thing) -> list[Thing]:
    """Return the anchor and the things below it in its column, up to the next heading."""
    below = sorted((one for one in column if one.y > anchor.y), key=lambda one: one.y)
    return [anchor, *takewhile(lambda one: one.kind != "heading", below)]


def _push_aside(page: Page, anchor: Thing, at: float, total: float, *, to_right: bool) -> float:
    """Move the links on the anchor's line aside to make room for new links; return the x of the new links."""
    line = [one for one in page.contents if one.kind == "link" and abs(one.y - anchor.y) < 12]
    for one in line:
        if to_right and one.x >= at - 1:
            one.x += total
        elif not to_right and one.x < at + total:
            one.x -= total if one is not anchor else 0
    over = max([one.x + one.width for one in line] + [at + total]) - (WIDTH - MARGIN)
    under = MARGIN - min([one.x for one in line] + [at])
    by = -over if over > 0 else max(0.0, under)
    for one in line:
        one.x += by
    return at + by


def _at_spot(page: Page, new: Sequence[Thing], words: str, ground: str | None) -> None:
    _, y = spot(page, words)
    align = "left" if "left" in words else "right" if "right" in words else "center"
    _spread(new, MARGIN, WIDTH - 2 * MARGIN, align, 0)
    height = _height(new)
    other = [a for a in page.areas if a.width >= WIDE and ground not in (None, a.background)]
    if "top" in words:
        over = [area for area in other if area.y < MARGIN and area.height < 400]
        top = max((area.bottom for area in over), default=0) + MARGIN
    elif "bottom" in words:
        foot = next((one for one in page.areas if one.bottom >= page.height - 1), None)
        top = foot.y + (foot.height - height) / 2 if foot else page.height - height - MARGIN
        if foot in other and foot:
            top = foot.y
            page.shift(page.below(top), height + MARGIN)
    else:
        top = y - height / 2
    for thing in new:
        thing.y = max(0, top)


def _make_room(page: Page, thing: Thing) -> None:
    """Make room for a new thing among the things that it overlaps.

    The new thing moves below the overlapped things that begin above it. The other overlapped things, and everything
    below them, then move down. A new link stays where it is and moves nothing.
    """
    covered = [other for other in page.contents if overlap(thing, other) and other is not thing]
    if not covered or thing.kind == "link":
        return
    top = min(other.y for other in covered)
    by = thing.bottom + MARGIN - max(top, thing.y)
    if top < thing.y:
        thing.y = max(other.bottom for other in covered if other.y < thing.y) + 8
        _make_room(page, thing)
        return
    page.shift([one for one in page.below(top) if one is not thing], by)


def _same_place(one: Thing, other: Thing) -> bool:
    """Return True if two elements have similar widths and overlap vertically by over half of the smaller height."""
    shared = min(one.bottom, other.bottom) - max(one.y, other.y)
    return shared > 0.5 * min(one.height, other.height) and abs(one.width - other.width) < 400


def _height(new: Sequence[Thing]) -> float:
    for thing in new:
        thing.fit()
    return max(thing.height for thing in new)


def _within(x: float, width: float) -> float:
    return max(0.0, min(x, WIDTH - width))
