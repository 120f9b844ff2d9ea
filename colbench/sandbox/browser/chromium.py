"""One running browser: its open pages, the memory of its processes, and its shutdown."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from colbench.errors import RenderError
from colbench.sandbox.browser.driver import complete, start_driver
from colbench.sandbox.browser.fonts import check_fonts
from colbench.sandbox.browser.launch import Launcher
from colbench.sandbox.browser.processes import family_memory, parent_of

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright

_START_SECONDS = 90.0
_END_SECONDS = 5.0
_WATCH_SECONDS = 0.5


class Chromium:
    """A running browser, with the driver that controls it.

    The browser is killed if its processes use more than `most_memory` bytes; its pages then fail as after a crash.
    """

    def __init__(
        self, playwright: Playwright, browser: Browser, pid: int, most_memory: int
    ) -> None:
        self.browser = browser
        self.pid = pid
        """ID of the topmost process."""
        self.memory = 0
        """Memory of the browser's processes in bytes at the last check; 0 before the first check."""
        self.rendered = 0
        self._playwright = playwright
        self._driver = parent_of(pid)
        self._most_memory = most_memory
        self._pages = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._watching = asyncio.create_task(self._watch())

    @classmethod
    async def start(cls, launcher: Launcher, most_memory: int) -> Chromium:
        """Start a browser. Raises RenderError, which gives the reason, if the browser does not start or work."""
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(_START_SECONDS):
                playwright = await start_driver()
                try:
                    chromium = cls(playwright, *await launcher.start(playwright), most_memory)
                except BaseException:
                    await complete(playwright.stop())
                    raise
                try:
                    await check_fonts(chromium.browser)
                except BaseException:
                    await complete(chromium.close())
                    raise
                return chromium
        except TimeoutError as error:
            raise RenderError(f"the browser was not ready within {_START_SECONDS:g} s") from error
        except (Error, OSError) as error:
            raise RenderError(f"the browser does not start or does not work: {error}") from error

    @property
    def alive(self) -> bool:
        """True if the browser can open pages."""
        return self.browser.is_connected()

    def enter(self) -> None:
        """Count one more open page."""
        self._pages += 1
        self._idle.clear()

    def leave(self) -> None:
        """Count one page as closed."""
        self._pages -= 1
        self.rendered += 1
        if not self._pages:
            self._idle.set()

    def kill(self) -> None:
        """Kill all processes of the browser immediately."""
        if self.alive:
            _kill(self.pid, os.killpg)

    async def ended(self, *tasks: asyncio.Task[Any]) -> None:
        """Wait for tasks that are about to end; ignore their results and errors.

        If the tasks hang, kill the browser; if they still hang, kill its driver; finally, cancel the tasks.
        """
        ending = asyncio.gather(*tasks, return_exceptions=True)
        for measure in (self.kill, self._kill_driver, ending.cancel):
            await asyncio.wait({ending}, timeout=_END_SECONDS)
            if ending.done():
                return
            measure()

    async def close(self) -> None:
        """Wait until the last page is closed, then close the browser."""
        await self._idle.wait()
        self._watching.cancel()
        await self.ended(asyncio.create_task(self._close()))

    async def _close(self) -> None:
        from playwright.async_api import Error

        with suppress(Error):
            await self.browser.close()
        await self._playwright.stop()

    def _kill_driver(self) -> None:
        _kill(self._driver, os.kill)

    async def _watch(self) -> None:
        while self.alive:
            self.memory = await asyncio.to_thread(family_memory, self.pid)
            if self.memory > self._most_memory:
                self.kill()
            await asyncio.sleep(_WATCH_SECONDS)


def _kill(pid: int, way: Callable[[int, int], None]) -> None:
    with suppress(ProcessLookupError):
        way(pid, signal.SIGKILL)
