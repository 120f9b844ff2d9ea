"""One page in a browser: loaded once in a context of its own, where nothing else can be had, and pictured."""

from __future__ import annotations

import asyncio
import base64
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from colbench.pages.render import Block
from colbench.sandbox.browser.assets import SCRIPT_READY, Prepared, respond
from colbench.sandbox.browser.blocks import read_blocks
from colbench.sandbox.browser.chromium import Chromium
from colbench.sandbox.browser.limits import Limits
from colbench.sandbox.browser.window import Window, fit

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, CDPSession, Route

HOME = "https://page.invalid/"
_MOST_ADDRESS = 200
"""Characters kept of an address that was refused."""
_MOST_LOOKS = 4
"""At a page that is never the same twice."""
_FREEZE = """async () => {
  const get = (type, name, of) => Object.getOwnPropertyDescriptor(type.prototype, name).get.call(of);
  const set = (type, name, of, value) => Object.getOwnPropertyDescriptor(type.prototype, name).set.call(of, value);
  const fits = (element, selector) => Element.prototype.matches.call(element, selector);
  await get(Document, 'fonts', document).ready;
  const still = new CSSStyleSheet();
  still.replaceSync('* { caret-color: transparent !important; }');
  const freeze = (root, type, parent) => {
    set(type, 'adoptedStyleSheets', root, [...get(type, 'adoptedStyleSheets', root), still]);
    for (const animation of type.prototype.getAnimations.call(root)) {
      const ends = Number.isFinite(animation.effect.getComputedTiming().endTime);
      try { ends ? animation.finish() : animation.cancel(); } catch { animation.cancel(); }
    }
    for (const element of parent.prototype.querySelectorAll.call(root, '*')) {
      const shadow = get(Element, 'shadowRoot', element);
      if (shadow) freeze(shadow, ShadowRoot, DocumentFragment);
      if (fits(element, 'svg')) { element.pauseAnimations(); element.setCurrentTime(0); }
      if (fits(element, 'progress:indeterminate')) element.value = 0;
    }
  };
  freeze(document, Document, Document);
}"""
"""Everything that moves stands still: what ends has ended, what does not has not begun.

The prototypes are asked, not the document and its elements: those have what the page names `fonts` or `matches`.
"""


class TooBigError(Exception):
    """The page wants more than it may have."""


class Sight(Struct, frozen=True, kw_only=True):
    """What was seen of a page."""

    picture: bytes
    width: int
    height: int
    cut: bool
    background: str
    blocks: tuple[Block, ...]
    refused: tuple[str, ...]


async def visit(chromium: Chromium, page: Prepared, window: Window, limits: Limits) -> Sight:
    """The page as seen in a fresh context of this browser.

    Raises TooBigError, TimeoutError when its time is up, Playwright's Error when the page or the browser went down.
    """
    visitor = _Visitor(page, window, limits)
    looking = asyncio.create_task(visitor.look(chromium.browser))
    try:
        await asyncio.wait({looking}, timeout=limits.wall_seconds)
        if visitor.asked > limits.requests:
            raise TooBigError(f"the page asks for more than {limits.requests:,} things")
        if not looking.done():
            raise TimeoutError
        return looking.result()
    finally:
        await chromium.ended(looking, asyncio.create_task(visitor.close()))


class _Visitor:
    """Serves the page once, answers what it asks for, and looks at it."""

    def __init__(self, page: Prepared, window: Window, limits: Limits) -> None:
        self._page = page
        self._window = window
        self._limits = limits
        self._context: BrowserContext | None = None
        self.asked = 0
        """Requests so far, after that for the page itself."""
        self._served = False
        self._opened = False
        self._left = False
        self._refused: set[str] = set()

    async def look(self, browser: Browser) -> Sight:
        width, height = self._window.width, self._window.height
        self._context = await browser.new_context(
            viewport={"width": width, "height": height},
            device_scale_factor=1,
            timezone_id="UTC",
            locale="en-US",
            color_scheme="light",
            reduced_motion="reduce",
            service_workers="block",
            java_script_enabled=self._page.needs_script,
            accept_downloads=False,
        )
        self._context.set_default_timeout(2000 * self._limits.wall_seconds)
        await self._context.route("**/*", self._answer)
        page = await self._context.new_page()
        self._opened = True
        if self._left:
            await self.close()
            raise TimeoutError
        session = await self._context.new_cdp_session(page)
        session.on("Audits.issueAdded", self._blocked)
        await session.send("Audits.enable")
        await session.send("Animation.enable")
        await session.send("Animation.setPlaybackRate", {"playbackRate": 0})
        await page.goto(HOME, wait_until="load")
        if self._page.needs_script:
            await page.wait_for_function(SCRIPT_READY)
        size = await fit(page, session, self._window)
        await page.evaluate(_FREEZE)
        return await self._see(session, size)

    async def close(self) -> None:
        """End the looking; while the tab is being opened Playwright cannot, so that the looking then ends itself."""
        from playwright.async_api import Error

        self._left = True
        if self._context and self._opened:
            with suppress(Error):
                await self._context.close()

    async def _see(self, session: CDPSession, size: tuple[int, int]) -> Sight:
        width, full = size
        height = min(full, self._limits.picture_height)
        picture = await self._picture(session, width, height)
        background, blocks = await read_blocks(session, picture)
        return Sight(
            picture=picture,
            width=width,
            height=height,
            background=background,
            blocks=blocks,
            cut=full > height,
            refused=tuple(sorted(self._refused)),
        )

    async def _picture(self, session: CDPSession, width: int, height: int) -> bytes:
        """The picture, once two in a row are the same: on a busy machine the first may lack what is drawn last."""
        beyond = (width, height) != (self._window.width, self._window.height)
        picture = b""
        for _ in range(_MOST_LOOKS):
            shot = await session.send(
                "Page.captureScreenshot",
                {
                    "format": "png",
                    "captureBeyondViewport": beyond,
                    "optimizeForSpeed": True,
                    "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1},
                },
            )
            before, picture = picture, base64.b64decode(shot["data"])
            if picture == before:
                break
        return picture

    async def _answer(self, route: Route) -> None:
        """The page itself, once; an asset that is had; nothing else."""
        from playwright.async_api import Error

        with suppress(Error):  # the page is gone
            if not self._served:
                self._served = True
                await route.fulfill(
                    body=self._page.page,
                    content_type="text/html; charset=utf-8",
                    headers={"Content-Security-Policy": self._page.csp},
                )
                return
            self.asked += 1
            if self.asked > self._limits.requests:
                await self.close()
            elif route.request.is_navigation_request():
                self._refuse(route.request.url)
                await route.fulfill(status=204)
            else:
                await self._give_asset(route)

    async def _give_asset(self, route: Route) -> None:
        asset = await asyncio.to_thread(respond, route.request.url)
        if asset is None:
            self._refuse(route.request.url)
            await route.abort("blockedbyclient")
        else:
            await route.fulfill(
                body=asset.body,
                content_type=asset.content_type,
                headers={"Access-Control-Allow-Origin": "*"},
            )

    def _blocked(self, event: dict[str, Any]) -> None:
        """Note an address that the page's security policy kept from being asked for at all."""
        details = event["issue"]["details"].get("contentSecurityPolicyIssueDetails", {})
        if "blockedURL" in details:
            self._refuse(details["blockedURL"])

    def _refuse(self, address: str) -> None:
        self._refused.add(address[:_MOST_ADDRESS])
