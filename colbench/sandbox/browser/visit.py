"""The capture of one page, which is loaded in its own browser context without access to anything else."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from colbench.pages.render import Block
from colbench.sandbox.browser.assets import HOME, SCRIPT_READY, Prepared, respond
from colbench.sandbox.browser.blocks import read_blocks
from colbench.sandbox.browser.chromium import Chromium
from colbench.sandbox.browser.limits import Limits, TooBigError
from colbench.sandbox.browser.still import hold_still
from colbench.sandbox.browser.window import Window, fit, measure

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, CDPSession, Page, Route

T = TypeVar("T")

_MOST_ADDRESS = 200
"""Maximum number of characters of a refused URL that are kept."""
_MOST_LOOKS = 4
"""Maximum number of attempts to capture or measure a page that keeps changing."""
_LATER = 0.1
"""Delay in seconds in the second load of a page: of each screenshot, and of the answer to the page's first request."""
_PATIENCE = 0.5
"""Seconds to wait before each screenshot in a visit with `patient`."""


class VariesError(Exception):
    """The page looks different when it is loaded again."""


class Sight(Struct, frozen=True, kw_only=True):
    """The appearance of a page in one visit."""

    picture: bytes
    width: int
    height: int
    cut: bool
    background: str
    blocks: tuple[Block, ...]
    refused: tuple[str, ...]


async def visit(
    chromium: Chromium, page: Prepared, window: Window, limits: Limits, *, patient: bool = False
) -> Sight:
    """Load a page in two fresh contexts of this browser, and return its appearance, which must be the same in both.

    Each context has its own process. In the second context, requests are answered later and in another order.
    `patient`: screenshots are taken half a second apart, for a busy machine. Raises TooBigError if the page exceeds a
    size limit, VariesError if the page looks different in the second context, TimeoutError if a load exceeds its time
    limit, and Playwright's Error if the page or the browser crashes.
    """
    first = _Visitor(page, window, limits, pause=_PATIENCE if patient else 0.0)
    sight = await _bounded(chromium, first, first.see)
    second = _Visitor(page, window, limits, pause=_PATIENCE if patient else _LATER, late=_LATER)
    if not await _bounded(chromium, second, lambda browser: second.sees(browser, sight)):
        raise VariesError
    return sight


async def _bounded(
    chromium: Chromium, visitor: _Visitor, look: Callable[[Browser], Coroutine[Any, Any, T]]
) -> T:
    """Run `look` within the limits of one load, and return its result; always close the visitor's context."""
    looking = asyncio.create_task(look(chromium.browser))
    try:
        await asyncio.wait({looking}, timeout=visitor.limits.wall_seconds)
        if visitor.asked > visitor.limits.requests:
            raise TooBigError(f"the page makes more than {visitor.limits.requests:,} requests")
        if not looking.done():
            raise TimeoutError
        return looking.result()
    finally:
        await chromium.ended(looking, asyncio.create_task(visitor.close()))


class _Visitor:
    """A visitor that serves the page once, answers the page's requests, and captures the page.

    `pause`: seconds before each screenshot. `late`: seconds by which the answer to the page's first request is delayed.
    The delay of the second answer is half as long, and the delay of the third answer a third as long.
    """

    def __init__(
        self, page: Prepared, window: Window, limits: Limits, *, pause: float, late: float = 0.0
    ) -> None:
        self.limits = limits
        self.asked = 0
        """Number of requests so far, not counting the request for the page itself."""
        self._page = page
        self._window = window
        self._pause = pause
        self._late = late
        self._context: BrowserContext | None = None
        self._served = False
        self._opened = False
        self._left = False
        self._refused: set[str] = set()

    async def see(self, browser: Browser) -> Sight:
        """Return the page's picture and its visible blocks."""
        session, width, full = await self._open(browser)
        height = min(full, self.limits.picture_height)
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

    async def sees(self, browser: Browser, sight: Sight) -> bool:
        """Return True if the page looks the same as in `sight`."""
        session, width, full = await self._open(browser)
        height = min(full, self.limits.picture_height)
        if (width, height, full > height) != (sight.width, sight.height, sight.cut):
            return False
        return await self._picture(session, width, height, sight.picture) == sight.picture

    async def close(self) -> None:
        """End the visit. Playwright cannot close a tab that is being opened, so `_open` closes it afterwards."""
        from playwright.async_api import Error

        self._left = True
        if self._context and self._opened:
            with suppress(Error):
                await self._context.close()

    async def _open(self, browser: Browser) -> tuple[CDPSession, int, int]:
        """Load and freeze the page. Return the CDP session, the width of the picture, and the height of the page."""
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
        self._context.set_default_timeout(2000 * self.limits.wall_seconds)
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
        return session, *await self._settle(page, session)

    async def _settle(self, page: Page, session: CDPSession) -> tuple[int, int]:
        """Freeze the page until its height is stable, at most `_MOST_LOOKS` times; return its width and height."""
        shadows = "shadowrootmode" in self._page.page.lower()
        await hold_still(page, session, shadows=shadows)
        width = await fit(page, session, self._window)
        height = await measure(page, session, self._window)
        for _ in range(_MOST_LOOKS):
            await hold_still(page, session, shadows=shadows)
            before, height = height, await measure(page, session, self._window)
            if height == before:
                break
        return width, height

    async def _picture(
        self, session: CDPSession, width: int, height: int, expected: bytes = b""
    ) -> bytes:
        """Take up to `_MOST_LOOKS` pictures until one equals `expected` or the previous picture; return the last.

        On a busy machine, the first picture may be incomplete.
        """
        beyond = (width, height) != (self._window.width, self._window.height)
        picture = b""
        for _ in range(_MOST_LOOKS):
            await asyncio.sleep(self._pause)
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
            if picture in (before, expected):
                break
        return picture

    async def _answer(self, route: Route) -> None:
        """Answer a request: the first one with the page, later ones with assets; refuse requests for anything else."""
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
            if self.asked > self.limits.requests:
                await self.close()
            elif route.request.is_navigation_request():
                self._refuse(route.request.url)
                await route.fulfill(status=204)
            else:
                await self._give_asset(route)

    async def _give_asset(self, route: Route) -> None:
        await asyncio.sleep(self._late / self.asked)
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
        """Record a URL whose request the page's security policy prevented."""
        details = event["issue"]["details"].get("contentSecurityPolicyIssueDetails", {})
        if "blockedURL" in details:
            self._refuse(details["blockedURL"])

    def _refuse(self, address: str) -> None:
        self._refused.add(address[:_MOST_ADDRESS])
