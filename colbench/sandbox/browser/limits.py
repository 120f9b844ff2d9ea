"""Limits of pages, and a cheap check of a page's HTML that rejects pages that would be slow to lay out."""

from __future__ import annotations

import re

from msgspec import Struct

_TAG = re.compile(r"<(/?)([a-z][^\s/>]*)(?:[^<>]*(/)>)?", re.I)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)
_RAW = re.compile(r"<(script|style)\b.*?(?:</\1\b|\Z)", re.I | re.S)
"""Elements in which comparisons such as `a<b` look like nested tags.

They are removed only to measure the depth. A page could evade this check by disguising other elements as the
content of a script or style element, but the browser also limits the depth.
"""
_UNNESTED = frozenset((
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
    "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "option", "optgroup", "colgroup", "caption",
    "rt", "rp", "html", "head", "body",
))  # fmt: skip
"""Elements that have no content, or whose end tag may be omitted."""
_MEMORY_EACH = 100_000_000
"""Number of bytes of memory allowed for each further page in the same browser."""


class TooBigError(Exception):
    """The page exceeds a size limit."""


class Limits(Struct, frozen=True, kw_only=True):
    """Limits of one page."""

    page_bytes: int = 2_000_000
    elements: int = 30_000
    depth: int = 1_000
    requests: int = 300
    """Maximum number of requests for pictures, stylesheets and the like."""
    wall_seconds: float = 10.0
    """Time limit for loading and capturing a page once. A page that is too slow is tried again in its own browser."""
    picture_height: int = 8192
    memory_bytes: int = 1_200_000_000
    """Memory limit of a browser with one page; each further concurrent page adds 100 MB."""

    def killed_beyond(self, pages: int) -> int:
        """Return the bytes of memory beyond which a browser with this many open pages is killed immediately."""
        return self.memory_bytes + (pages - 1) * _MEMORY_EACH

    def replaced_beyond(self, pages: int) -> int:
        """Return the bytes of memory beyond which a browser for this many pages is replaced once all pages are closed.

        The result of `killed_beyond` is higher, unless `memory_bytes` is too small for any browser.
        """
        return self.memory_bytes // 4 + pages * _MEMORY_EACH


def excess(page: str, limits: Limits) -> str:
    """Return a description of the first limit that the page exceeds; "" if it exceeds none."""
    size = len(page.encode("utf-8", "replace"))
    if size > limits.page_bytes:
        return f"the page has {size:,} bytes; at most {limits.page_bytes:,} are rendered"
    text = _COMMENT.sub("", page)
    elements, depth = _count(text)
    if elements > limits.elements:
        return f"the page has {elements:,} elements; at most {limits.elements:,} are rendered"
    if depth > limits.depth:
        _, depth = _count(_RAW.sub("", text))
    if depth > limits.depth:
        return f"the page's elements are nested {depth:,} deep; at most {limits.depth:,} levels are rendered"
    return ""


def _count(text: str) -> tuple[int, int]:
    """Return the number of start tags and an estimate of their nesting depth, without an HTML parser."""
    elements = depth = deepest = 0
    for end, name, closed in _TAG.findall(text):
        elements += not end
        if not closed and name.lower() not in _UNNESTED:
            depth = max(0, depth - 1) if end else depth + 1
            deepest = max(deepest, depth)
    return elements, deepest
