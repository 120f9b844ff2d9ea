"""HTML from Python: elements that indent what is inside them."""

from __future__ import annotations

from html import escape
from textwrap import indent

TAILWIND = "https://cdn.jsdelivr.net/npm/tailwindcss@2.2.19/dist/tailwind.min.css"


def element(tag: str, classes: str, *inside: str, **attributes: str) -> str:
    """An element with other elements inside, each on lines of its own."""
    lines = "\n".join(part for part in inside if part)
    return f"{_head(tag, classes, attributes)}\n{indent(lines, '  ')}\n</{tag}>"


def words(tag: str, classes: str, text: str, **attributes: str) -> str:
    """An element with text inside, on one line."""
    return f"{_head(tag, classes, attributes)}{escape(text, quote=False)}</{tag}>"


def picture(number: int, width: int, height: int, classes: str, alt: str) -> str:
    """An image of a size in pixels, from the address that the official rows use."""
    address = f"https://picsum.photos/id/{number}/{width}/{height}"
    return _head("img", classes, {"src": address, "alt": alt})


def field(classes: str, kind: str, placeholder: str) -> str:
    """An input field that shows what to type."""
    return _head("input", classes, {"type": kind, "placeholder": placeholder})


def page(classes: str, *sections: str) -> str:
    """A whole document."""
    style = _head("link", "", {"href": TAILWIND, "rel": "stylesheet"})
    return element("html", "", style, element("body", classes, *sections))


def _head(tag: str, classes: str, attributes: dict[str, str]) -> str:
    given = {"class": " ".join(classes.split())} | attributes
    return f"<{tag}" + "".join(f' {k}="{escape(v)}"' for k, v in given.items() if v) + ">"
