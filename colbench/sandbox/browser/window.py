"""The size of a page's picture: in ColBench's own window, and in the window of the paper's release.

The release takes full-page pictures in a headless Firefox with a viewport of 1366 x 682 pixels. There, a page taller
than the window loses 12 pixels of its width to the scrollbar, and a page shorter than the window gives a shorter
picture.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct

from colbench.config import ScoringMode

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page


class Window(Struct, frozen=True, kw_only=True):
    """The inside of a browser's window, in CSS pixels."""

    width: int
    height: int
    scrollbar: int = 0
    """Width in pixels that a page loses to the scrollbar if it is taller than the window."""
    fills: bool = True
    """True if the picture of a page shorter than the window is as tall as the window."""


WINDOWS: dict[ScoringMode, Window] = {
    "default": Window(width=1280, height=720),
    "official": Window(width=1366, height=682, scrollbar=12, fills=False),
}
_CONTENT_HEIGHT = """() => {
  const get = (name) => Object.getOwnPropertyDescriptor(Document.prototype, name).get.call(document);
  const root = get('documentElement');
  const grown = [root, get('body')].filter((each) => each && each.computedStyleMap().get('height') == 'auto');
  const before = grown.map((each) => each.style.height);
  for (const each of grown) each.style.height = 'fit-content';
  const height = Element.prototype.getBoundingClientRect.call(root).height;
  grown.forEach((each, number) => { each.style.height = before[number]; });
  return Math.max(Math.round(height), 1);
}"""
"""A script that returns the height that the root element would have in Firefox.

It is needed for pages without a doctype: in Chromium, their root element is at least as tall as the window.
"""


async def fit(page: Page, session: CDPSession, window: Window) -> int:
    """Return the width of the picture of a loaded page. If the scrollbar takes width, lay out the page again."""
    if window.fills or await measure(page, session, window) <= window.height:
        return window.width
    width = window.width - window.scrollbar
    await page.set_viewport_size({"width": width, "height": window.height})
    return width


async def measure(page: Page, session: CDPSession, window: Window) -> int:
    """Return the height of the picture of a page with its current layout."""
    if not window.fills:
        return int(await page.evaluate(_CONTENT_HEIGHT))
    metrics = await session.send("Page.getLayoutMetrics")
    content: float = metrics["cssContentSize"]["height"]
    return max(window.height, math.ceil(content))
