"""One running browser: who has pages in it, how much memory its processes have, and how it ends."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from colbench.errors import RenderError
from colbench.sandbox.browser.fonts import check_fonts
from colbench.sandbox.browser.launch import Launcher
from colbench.sandbox.browser.limits import Limits

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright

_CHECK_SECONDS = 30.0
_CLOSE_SECONDS = 5.0
_WATCH_SECONDS = 0.25
_MEMORY_PAGE = os.sysconf("SC_PAGE_SIZE")


class Chromium:
    """A browser that runs, with the driver that it is spoken to through.

    It is killed when its processes take more memory than a page may cost; who has a page in it sees it die.
    """

    def __init__(self, playwright: Playwright, browser: Browser, pid: int, limits: Limits) -> None:
        self.browser = browser
        self.pid = pid
        """Of the topmost process."""
        self.memory = 0
        """Bytes that its processes have for themselves, as seen last; 0 where there is no /proc."""
        self.rendered = 0
        self._playwright = playwright
        self._limits = limits
        self._pages = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._watching = asyncio.create_task(self._watch())

    @classmethod
    async def start(cls, launcher: Launcher, limits: Limits) -> Chromium:
        """A fresh browser. Raises RenderError saying why there is none."""
        from playwright.async_api import Error, async_playwright

        playwright = await async_playwright().start()
        try:
            browser, pid = await launcher.start(playwright)
        except BaseException:
            await playwright.stop()
            raise
        chromium = cls(playwright, browser, pid, limits)
        try:
            async with asyncio.timeout(_CHECK_SECONDS):
                await check_fonts(browser)
        except (Error, TimeoutError) as error:
            await chromium.close()
            raise RenderError(f"the browser starts, but does not work: {error}") from error
        except BaseException:
            await chromium.close()
            raise
        return chromium

    @property
    def alive(self) -> bool:
        """Whether it can be given pages."""
        return self.browser.is_connected()

    def enter(self) -> None:
        """One more has a page in it."""
        self._pages += 1
        self._idle.clear()

    def leave(self) -> None:
        """One page is done with."""
        self._pages -= 1
        self.rendered += 1
        if not self._pages:
            self._idle.set()

    def kill(self) -> None:
        """End all its processes at once."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    async def close(self) -> None:
        """End it when the last page is done with; by force if it takes long."""
        await self._idle.wait()
        self._watching.cancel()
        closing = asyncio.create_task(self.browser.close())
        await asyncio.wait({closing}, timeout=_CLOSE_SECONDS)
        self.kill()
        await asyncio.gather(closing, self._playwright.stop(), return_exceptions=True)

    async def _watch(self) -> None:
        while self.alive:
            self.memory = sum(map(_own_memory, _family(self.pid)))
            if self.memory > self._limits.memory_bytes:
                self.kill()
            await asyncio.sleep(_WATCH_SECONDS)


def _family(root: int) -> list[int]:
    """This process and all that descend from it."""
    children = defaultdict(list)
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(entry.read_text().rpartition(")")[2].split()[1])
            children[parent].append(int(entry.parent.name))
    found = [root]
    for pid in found:
        found += children[pid]
    return found


def _own_memory(pid: int) -> int:
    with suppress(OSError):
        resident, shared = Path(f"/proc/{pid}/statm").read_text().split()[1:3]
        return (int(resident) - int(shared)) * _MEMORY_PAGE
    return 0
