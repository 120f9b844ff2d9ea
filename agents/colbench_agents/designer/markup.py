"""The designer's model of a page as HTML: Tailwind for type, inline styles for the rest."""

from __future__ import annotations

from html import escape
from textwrap import indent

from colbench_agents.designer.colors import on
from colbench_agents.designer.page import Box, Leaf, Page

TAILWIND = "https://cdn.jsdelivr.net/npm/tailwindcss@2.2.19/dist/tailwind.min.css"
TAGS = {"heading": "h2", "text": "p", "link": "a", "button": "button"}
JUSTIFY = {"left": "flex-start", "center": "center", "right": "flex-end"}


def html(page: Page) -> str:
    """The page as a document."""
    bands = "\n".join(_box(band) for band in page.bands)
    style = f"background-color: {page.background}; color: {page.color}"
    return (
        f'<html>\n<link href="{TAILWIND}" rel="stylesheet">\n'
        f'<body style="{style}">\n{indent(bands, "  ")}\n</body>\n</html>'
    )


def _box(box: Box) -> str:
    style = [*_flow(box), *_look(box)]
    inside = "\n".join(
        _leaf(member, box) if isinstance(member, Leaf) else _box(member) for member in box.children
    )
    return (
        f"<div{_style(style)}>\n{indent(inside, '  ')}\n</div>"
        if inside
        else f"<div{_style(style)}></div>"
    )


def _flow(box: Box) -> list[str]:
    if box.direction == "column":
        return [f"text-align: {box.align}"]
    if box.direction == "columns":
        columns = f"repeat({len(box.children)}, minmax(0, 1fr))"
        return ["display: grid", f"grid-template-columns: {columns}", "gap: 16px"]
    justify = "space-between" if box.spread else JUSTIFY[box.align]
    return ["display: flex", "align-items: center", f"justify-content: {justify}", "gap: 16px"]


def _look(box: Box) -> list[str]:
    vertical, horizontal = box.padding
    return [
        *([f"background-color: {box.background}"] if box.background else []),
        *([f"color: {box.color}"] if box.color else []),
        *([f"padding: {vertical}px {horizontal}px"] if vertical or horizontal else []),
        *([f"width: {box.width}px"] if box.width else []),
        *([f"min-height: {box.height}px"] if box.height else []),
        *([f"margin-top: {box.above}px"] if box.above else []),
    ]


def _leaf(leaf: Leaf, holder: Box) -> str:
    outer = [
        *([f"text-align: {leaf.align}"] if leaf.align else []),
        *([f"margin-top: {leaf.above}px"] if leaf.above else []),
        *([f"position: relative; left: {leaf.right}px"] if leaf.right else []),
    ]
    if leaf.kind in ("heading", "text"):
        return _text(leaf, outer)
    inner = {"picture": _picture, "input": _field, "box": _area}.get(leaf.kind, _text)(leaf, [])
    return f"<div{_style(outer)}>{inner}</div>" if holder.direction == "column" or outer else inner


def _text(leaf: Leaf, style: list[str]) -> str:
    classes = f"text-{leaf.size}" + (" font-bold" if leaf.bold else "")
    color = leaf.color or (on(leaf.background) if leaf.background else None)
    look = [
        *([f"color: {color}"] if color else []),
        *([f"background-color: {leaf.background}"] if leaf.background else []),
        *(["padding: 8px 16px; border-radius: 4px"] if leaf.kind == "button" else []),
        *([f"width: {leaf.width}px"] if leaf.width else []),
    ]
    tag = TAGS[leaf.kind]
    return f'<{tag} class="{classes}"{_style([*look, *style])}>{escape(leaf.text, quote=False)}</{tag}>'


def _picture(leaf: Leaf, _: list[str]) -> str:
    width, height = leaf.width or 400, leaf.height or 300
    address = f"https://picsum.photos/id/48/{width}/{height}"
    look = _style(
        [f"width: {width}px", f"height: {height}px", "max-width: none", "display: inline"]
    )
    return f'<img src="{address}" alt="{escape(leaf.text)}"{look}>'


def _field(leaf: Leaf, _: list[str]) -> str:
    look = [
        "padding: 8px",
        "border: 1px solid #d1d5db",
        f"background-color: {leaf.background or '#ffffff'}",
        f"color: {leaf.color or '#000000'}",
        *([f"width: {leaf.width}px"] if leaf.width else ["width: 100%"]),
    ]
    return f'<input placeholder="{escape(leaf.text)}"{_style(look)}>'


def _area(leaf: Leaf, _: list[str]) -> str:
    look = [
        f"background-color: {leaf.background or '#e5e7eb'}",
        f"width: {leaf.width or 300}px",
        f"height: {leaf.height or 200}px",
        "display: inline-block",
    ]
    return f"<div{_style(look)}></div>"


def _style(rules: list[str]) -> str:
    return f' style="{"; ".join(rules)}"' if rules else ""
