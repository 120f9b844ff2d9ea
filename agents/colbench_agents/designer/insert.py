"""Putting something at a place of the page: into the band that is there, or into a new one."""

from __future__ import annotations

from colbench.pages.render import Align
from colbench_agents.designer.find import band_at, by_text
from colbench_agents.designer.page import Box, Leaf, Page, path
from colbench_agents.designer.wishes import Place

WIDE = 900
"""A picture or an area at least so wide is a band of its own."""
PADDING = (16, 16)


def insert(page: Page, thing: Leaf | Box, place: Place, background: str | None = None) -> None:
    """Put something at a place. `background` is what it is to stand on, None if that was not said."""
    anchor = by_text(page, place.anchor) if place.anchor else None
    if anchor and place.relation in ("right", "left"):
        _beside(page, thing, anchor, after=place.relation == "right")
    elif anchor:
        _stack(page, thing, anchor, background, after=place.relation != "above")
    else:
        _at_spot(page, thing, place.spot, background)


def ground(page: Page, thing: Leaf | Box) -> str:
    """The colour that is behind something."""
    for box in reversed(path(page, thing) or []):
        if box.background:
            return box.background
    return page.background


def _stack(
    page: Page, thing: Leaf | Box, anchor: Leaf, background: str | None, *, after: bool
) -> None:
    """Below or above an anchor."""
    around = path(page, anchor) or []
    inner: Leaf | Box = anchor
    for box in reversed(around):
        if box.direction == "column" or (box.direction == "columns" and inner is not anchor):
            break
        inner = box
    else:
        box = None
    other = background and background != ground(page, anchor)
    if box is None or other or _wide(thing):
        band = around[0]
        where = page.bands.index(band) + after
        neighbour = page.bands[where - (not after)] if 0 < where < len(page.bands) else None
        if not _wide(thing) and neighbour and _takes(page, neighbour, background):
            neighbour.children.insert(0 if after else len(neighbour.children), thing)
        else:
            page.bands.insert(where, _band(page, thing, background, band.align))
        return
    box.children.insert(box.children.index(inner) + after, thing)


def _beside(page: Page, thing: Leaf | Box, anchor: Leaf, *, after: bool) -> None:
    """To the right or the left of an anchor."""
    holder = (path(page, anchor) or [])[-1]
    around = path(page, holder)
    grid = around[-1] if around else None
    if holder.direction != "column":
        holder.children.insert(holder.children.index(anchor) + after, thing)
    elif grid and grid.direction == "columns":
        column = thing if isinstance(thing, Box) else Box(children=[thing], align=holder.align)
        grid.children.insert(grid.children.index(holder) + after, column)
    else:
        start = holder.children.index(anchor)
        end = start + 1
        if isinstance(thing, Box) or thing.kind in ("heading", "text", "picture"):
            end = _end_of_section(holder, start)
        first, second = Box(children=holder.children[start:end]), Box(children=[thing])
        pair = [first, second] if after else [second, first]
        holder.children[start:end] = [Box(children=[*pair], direction="columns")]


def _end_of_section(holder: Box, start: int) -> int:
    """Where the part that begins with a heading ends: at the next heading."""
    first = holder.children[start]
    end = start + 1
    if not isinstance(first, Leaf) or first.kind != "heading":
        return end
    while end < len(holder.children):
        member = holder.children[end]
        if isinstance(member, Box) or member.kind == "heading":
            break
        end += 1
    return end


def _at_spot(page: Page, thing: Leaf | Box, spot: str, background: str | None) -> None:
    align: Align = "left" if "left" in spot else "right" if "right" in spot else "center"
    band = band_at(page, spot)
    if band is None:
        page.bands.append(_band(page, thing, background, align))
        return
    where = page.bands.index(band)
    if not _wide(thing) and ("top" in spot or "bottom" in spot) and _takes(page, band, background):
        if band.direction == "row":
            band.children.insert(0 if align == "left" else len(band.children), thing)
        else:
            band.children.insert(0 if "top" in spot else len(band.children), thing)
        return
    after = "bottom" in spot or "top" not in spot or not background
    page.bands.insert(where + after, _band(page, thing, background, align))


def _band(page: Page, thing: Leaf | Box, background: str | None, align: Align) -> Box:
    own = background if background != page.background else None
    return Box(
        children=[thing],
        background=own,
        align=align,
        padding=(0, 0) if _wide(thing) else PADDING,
    )


def _takes(page: Page, band: Box, background: str | None) -> bool:
    """Whether something that stands on this background may go into a band."""
    full = all(_wide(member) for member in band.children) and band.children
    return not full and background in (None, band.background or page.background)


def _wide(thing: Leaf | Box) -> bool:
    return (
        isinstance(thing, Leaf) and thing.kind in ("picture", "box") and (thing.width or 0) >= WIDE
    )
