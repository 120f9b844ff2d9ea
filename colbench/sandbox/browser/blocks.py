"""The door to what can be seen of a page that is open in a browser."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from colbench.pages.render import Block
from colbench.sandbox.browser.sight.blocks import blocks_of
from colbench.sandbox.browser.sight.layout import STYLES

if TYPE_CHECKING:
    from playwright.async_api import CDPSession


async def read_blocks(session: CDPSession, picture: bytes) -> tuple[str, tuple[Block, ...]]:
    """Read the page's background color, `#rrggbb`, and the visible blocks in the picture, in reading order.

    The picture is the page's, from its upper left corner at one pixel a CSS pixel. Nothing runs in the page.
    Hidden, clipped, covered, too faint and too small things are none: see docs/frontend.md.
    Raises Playwright's Error when the page or the browser goes down.
    """
    snapshot = await session.send(
        "DOMSnapshot.captureSnapshot", {"computedStyles": list(STYLES), "includePaintOrder": True}
    )
    return await asyncio.to_thread(blocks_of, snapshot, picture)
