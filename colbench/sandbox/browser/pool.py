"""A browser that many pages share, and new browsers for single pages.

The shared browser is replaced if it has crashed, uses too much memory, or has rendered many pages.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from colbench.errors import RenderError
from colbench.sandbox.browser.chromium import Chromium
from colbench.sandbox.browser.launch import Launcher
from colbench.sandbox.browser.limits import Limits

_MOST_RENDERED = 500
"""Number of rendered pages after which a browser is replaced."""


class Pool:
    """A pool that lends a shared browser to at most `workers` pages at a time, and new browsers to single pages."""

    def __init__(self, launcher: Launcher, limits: Limits, workers: int) -> None:
        self._launcher = launcher
        self._limits = limits
        self._workers = workers
        self._free = asyncio.Semaphore(workers)
        self._replacing = asyncio.Lock()
        self._alone = asyncio.Lock()
        self._shared: Chromium | None = None
        self._running: set[Chromium] = set()
        self._closed = False

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[Chromium]:
        """Yield the shared browser to callers in order of arrival. Raises RenderError if no browser can start."""
        async with self._free:
            async with self._replacing:
                chromium = await self._sound()
                chromium.enter()
            try:
                yield chromium
            finally:
                chromium.leave()

    @asynccontextmanager
    async def own(self) -> AsyncIterator[Chromium]:
        """Yield a new browser for one page, while other callers of this method wait.

        Raises RenderError if the browser does not start.
        """
        async with self._alone:
            chromium = await self._start(1)
            try:
                yield chromium
            finally:
                await self._end(chromium)

    async def close(self) -> None:
        """Close every browser, including those with open pages, and start no more browsers."""
        self._closed = True
        for chromium in self._running:
            chromium.kill()
        async with self._alone, self._replacing:
            for chromium in tuple(self._running):
                await self._end(chromium)

    async def _sound(self) -> Chromium:
        """Return the shared browser; a worn-out browser (`_worn`) is first replaced, after its pages are closed."""
        if self._shared and self._worn(self._shared):
            worn, self._shared = self._shared, None
            await self._end(worn)
        if self._shared is None:
            self._shared = await self._start(self._workers)
        return self._shared

    def _worn(self, chromium: Chromium) -> bool:
        return (
            not chromium.alive
            or chromium.rendered >= _MOST_RENDERED
            or chromium.memory > self._limits.replaced_beyond(self._workers)
        )

    async def _start(self, pages: int) -> Chromium:
        if self._closed:
            raise RenderError("the renderer is closed")
        chromium = await Chromium.start(self._launcher, self._limits.killed_beyond(pages))
        self._running.add(chromium)
        return chromium

    async def _end(self, chromium: Chromium) -> None:
        await chromium.close()
        self._running.discard(chromium)
