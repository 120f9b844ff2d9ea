"""Conversion of the designer's page to HTML: absolutely positioned elements, on top of Tailwind's base styles."""

from __future__ import annotations

from html import escape

from colbench_agents.designer.colors import on
from colbench_agents.designer.measure import LINE_HEIGHTS
from colbench_agents.designer.page import Page, Thing

TAILWIND = "https://cdn.jsdelivr.net/npm/tailwindcss@2.2.19/dist/tailwind.min.css"
TAGS = {"heading": "h2", "text": "p", "link": "a", "button": "button"}


def html(page: Page) -> str:
    """Return the page as an HTML document."""
    things = "\n".join(f"  {_thing(thing, page)}" for thing in page.things)
    style = f"position: relative; height: {page.height:.0f}px; background-color: {page.background}"
    return (
        f'<html>\n<link href="{TAILWIND}" rel="stylesheet">\n'
        f'<body style="{style}">\n{things}\n</body>\n</html>'
    )


def _thing(thing: Thing, page: Page) -> str:
    make = {"box": _area, "picture": _picture, "input": _field}.get(thing.kind, _words)
    return make(thing, page)


def _words(thing: Thing, page: Page) -> str:
    own = thing.background if thing.kind == "button" else None
    color = thing.color or on(own or page.ground(thing))
    tag = TAGS[thing.kind]
    style = _style(
        thing,
        "white-space: nowrap" if thing.kind in ("link", "button") else "",
        f"height: {thing.height:.0f}px" if thing.kind == "button" else "",
        f"background-color: {own}; border-radius: 4px" if own else "",
        f"font-size: {thing.size}px; line-height: {LINE_HEIGHTS[thing.size]}px",
        "font-weight: 700" if thing.bold else "",
        f"text-align: {thing.align}" if thing.align != "left" else "",
        f"color: {color}",
    )
    return f"<{tag}{style}>{escape(thing.text, quote=False)}</{tag}>"


def _area(thing: Thing, _: Page) -> str:
    style = _style(
        thing,
        f"height: {thing.height:.0f}px; background-color: {thing.background}",
        "box-shadow: 0 1px 4px rgba(0, 0, 0, 0.25)" if thing.edge else "",
    )
    return f"<div{style}></div>"


def _picture(thing: Thing, _: Page) -> str:
    address = f"https://picsum.photos/id/48/{thing.width:.0f}/{thing.height:.0f}"
    style = _style(thing, f"height: {thing.height:.0f}px; max-width: none")
    return f'<img src="{address}" alt="{escape(thing.text)}"{style}>'


def _field(thing: Thing, _: Page) -> str:
    style = _style(
        thing,
        f"height: {thing.height:.0f}px; padding: 8px; border: 1px solid #d1d5db",
        f"background-color: {thing.background or '#ffffff'}; color: {thing.color or '#000000'}",
    )
    return f'<input placeholder="{escape(thing.text)}"{style}>'


def _style(thing: Thing, *rules: str) -> str:
    place = f"left: {thing.x:.0f}px; top: {thing.y:.0f}px; width: {thing.width:.0f}px"
    return f' style="{"; ".join(["position: absolute", place, *filter(None, rules)])}"'
