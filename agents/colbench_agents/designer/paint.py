"""Coloring the background of a thing, by recoloring the area behind it or adding an area around it."""

from __future__ import annotations

from colbench_agents.designer.page import WIDTH, Page, Thing

PADDING = 16
WIDE = 700
"""Minimum width, in pixels, of areas and things that are too wide to be one column of several."""
BAR = 56
"""Height of a bar of links."""
TOGETHER = 32
"""Maximum free space between things that belong together."""


def paint(page: Page, thing: Thing, color: str, *, card: bool = False) -> None:
    """Give a thing a background color; with `card`, color only the thing's column."""
    area = page.behind(thing)
    if area and color != area.background and _disputed(page, area, thing):
        _next_line(page, area, thing)
        area = None
    if area and color == page.background:
        _clear(page, area, thing)
    elif area and (area.width < WIDE or not card):
        area.background, area.asked = color, True
    elif color != page.ground(thing):
        group = _group(page, thing, card=card)
        left, right = 0.0, float(WIDTH)
        if card and thing.width < WIDE:
            left, right = thing.x - PADDING, thing.x + thing.width + PADDING
        top = min(one.y for one in group) - PADDING
        bottom = max(one.bottom for one in group) + PADDING
        _lay(page, color, (max(0.0, left), max(0.0, top)), (min(right, WIDTH), bottom))


def _disputed(page: Page, area: Thing, thing: Thing) -> bool:
    """Return True if the human chose the area's color, and `thing` is a link in a line with other kinds of things."""
    line = [one for one in page.contents if one.y < thing.bottom and thing.y < one.bottom]
    return area.asked and thing.kind == "link" and any(one.kind != "link" for one in line)


def _next_line(page: Page, area: Thing, thing: Thing) -> None:
    """Move the links on a thing's line to a new line below `area`, where their background can differ."""
    row = [one for one in page.contents if one.kind == "link" and abs(one.y - thing.y) < 12]
    page.shift([one for one in page.below(area.bottom) if one not in row], BAR)
    left = min(one.x for one in row)
    for one in row:
        one.x += PADDING - left
        one.y = area.bottom + (BAR - one.height) / 2
    page.settle()


def _lay(page: Page, color: str, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Add an area between two corners; join it with nearby areas of the same color and width."""
    (left, top), (right, bottom) = start, end
    for other in page.areas:
        near = other.y < bottom + TOGETHER and top - TOGETHER < other.bottom
        if near and other.background == color and (other.x, other.width) == (left, right - left):
            top, bottom = min(top, other.y), max(bottom, other.bottom)
            page.things.remove(other)
    page.add(
        Thing(
            kind="box",
            x=left,
            y=top,
            width=right - left,
            height=bottom - top,
            background=color,
            asked=True,
        )
    )


def _group(page: Page, thing: Thing, *, card: bool) -> list[Thing]:
    """Return the things on the same line and in the same area as `thing`, including `thing` itself.

    For a heading, also return the things that closely follow it. With `card`, leave out things outside its column.
    """
    ground = page.behind(thing)
    free = [one for one in page.contents if page.behind(one) is ground]
    if card:
        free = [
            one for one in free if one.x < thing.x + thing.width and thing.x < one.x + one.width
        ]
    group = [one for one in free if one.y < thing.bottom and thing.y < one.bottom]
    if thing.kind == "heading":
        for one in sorted(free, key=lambda one: one.y):
            gap = one.y - max(other.bottom for other in group)
            if 0 <= gap <= TOGETHER and one.kind != "heading":
                group.append(one)
    return group


def _clear(page: Page, area: Thing, thing: Thing) -> None:
    """Shrink or remove an area so that a thing is outside it.

    If all other contents of the area are above the thing, the part above the thing remains; if all are below it, the
    part below it remains. Contents next to the thing do not count. In all other cases, the whole area is removed.
    """
    others = [one for one in page.contents if page.behind(one) is area and one is not thing]
    rest = [one for one in others if one.y >= thing.bottom or one.bottom <= thing.y]
    page.things.remove(area)
    if rest and all(one.y >= thing.bottom for one in rest):
        top = thing.bottom + 8
        area.y, area.height = top, area.bottom - top
        page.add(area)
    elif rest and all(one.bottom <= thing.y for one in rest):
        area.height = thing.y - 8 - area.y
        page.add(area)
