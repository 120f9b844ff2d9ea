"""HTML from Python: elements that indent their content."""

from __future__ import annotations

from functools import lru_cache
from html import escape

TAILWIND = "https://cdn.jsdelivr.net/npm/tailwindcss@2.2.19/dist/tailwind.min.css"


def element(tag: str, classes: str, *inside: str, **attributes: str) -> str:
    """Build an element with other elements inside, each on separate lines."""
    lines = "\n".join(part for part in inside if part).replace("\n", "\n  ")
    return f"{_head(tag, classes, attributes)}\n  {lines}\n</{tag}>"


def div(classes: str, *inside: str) -> str:
    """Build a `div` with other elements inside."""
    return element("div", classes, *inside)


def words(tag: str, classes: str, text: str, **attributes: str) -> str:
    """Build an element with text inside, on one line."""
    return f"{_head(tag, classes, attributes)}{escape(text, quote=False)}</{tag}>"


def photo(number: int, width: int, height: int) -> str:
    """Return the URL of a photo with a size in pixels, on the host that the official rows use."""
    return f"https://picsum.photos/id/{number}/{width}/{height}"


def picture(number: int, width: int, height: int, classes: str, alt: str) -> str:
    """Build an image element with a size in pixels."""
    return _head("img", classes, {"src": photo(number, width, height), "alt": alt})


def backed(number: int, classes: str, *inside: str) -> str:
    """Build a `section` with a photo as its background."""
    style = f"background-image: url({photo(number, 1280, 720)})"
    return element("section", f"bg-cover bg-center {classes}", *inside, style=style)


def field(classes: str, kind: str, placeholder: str) -> str:
    """Build an input field with a placeholder."""
    return _head("input", classes, {"type": kind, "placeholder": placeholder})


def link(classes: str, text: str) -> str:
    """Build a link without a target."""
    return words("a", classes, text, href="#")


def page(classes: str, *sections: str) -> str:
    """Build a whole document."""
    style = _head("link", "", {"href": TAILWIND, "rel": "stylesheet"})
    return element("html", "", style, element("body", classes, *sections))


def _head(tag: str, classes: str, attributes: dict[str, str]) -> str:
    others = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items() if value)
    return f"{_start(tag, classes)}{others}>"


@lru_cache(maxsize=4096)
def _start(tag: str, classes: str) -> str:
    tidy = " ".join(classes.split())
    return f'<{tag} class="{tidy}"' if tidy else f"<{tag}"
