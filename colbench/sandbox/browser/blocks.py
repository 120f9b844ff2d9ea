"""The entry point for reading the visible content of a page that is open in a browser."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from colbench.pages.render import Block
from colbench.sandbox.browser.sight.blocks import blocks_of
from colbench.sandbox.browser.sight.layout import STYLES

if TYPE_CHECKING:
    from playwright.async_api import CDPSession


async def read_blocks(session: CDPSession, picture: bytes) -> tuple[str, tuple[Block, ...]]:
    """Return the page's background color (`#rrggbb`) and the visible blocks in the picture, in reading order.

    `picture` shows the page from its upper left corner, with one pixel per CSS pixel. No code runs in the page. Hidden,
    clipped, covered, too faint and too small elements do not count: see docs/frontend.md. Raises Playwright's Error if
    the page or the browser crashes, TooBigError if the page has too many areas on top of each other.
    """
    snapshot = await session.send(
        "DOMSnapshot.captureSnapshot", {"computedStyles": list(STYLES), "includePaintOrder": True}
    )
    return await asyncio.to_thread(blocks_of, snapshot, picture)
