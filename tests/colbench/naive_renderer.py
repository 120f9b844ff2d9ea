"""An unsafe renderer: it opens pages as files, in one window, with scripts and the network, and waits.

Only a watchdog, which is not a part of the renderer, keeps it from harming the machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import tempfile
import time
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.async_api import Error, async_playwright

from colbench.sandbox.attacks.orphans import descendants, memory_of
from colbench.sandbox.browser.assets import respond
from colbench.sandbox.browser.attacks import Canary, page_controls, shows_canary
from colbench.sandbox.browser.attacks.corpus import HEIGHT

SECONDS = {"denial": 3.0}
PATIENCE = 20.0
"""Seconds after which a picture counts as missing, unless SECONDS has the aim; a loaded machine may need as many."""
MEMORY = 1 << 30
"""Bytes of memory that the browser may use beyond its initial memory."""
AFTERMATH = 1.0
"""Seconds to wait for effects of a page after its picture was taken."""
MOST_PROCESSES = 12
TRIES = 3
"""Maximum number of attempts, as some attacks need luck."""
LATER = 1.2
"""Seconds by which the second picture is delayed, as on a busy machine; half of them pass before the page is
measured."""
WEB_SECONDS = 3.0
"""Seconds until an image from the web arrives the first time; the second time, it arrives at once."""
HEIGHT_BEFORE, OTHER_HEIGHT_BEFORE = 720, 600
"""Heights in pixels of the window, and of another user's window, before they are made as tall as the page."""
OTHER_TASTE = {"color_scheme": "dark", "contrast": "more", "reduced_motion": "reduce"}


class NaiveRenderer:
    """An asynchronous context manager with a watched browser and a canary; a browser that was killed is replaced."""

    def __init__(self, executable):
        self.executable = executable
        self.browser = None

    async def __aenter__(self):
        self.stack = contextlib.AsyncExitStack()
        self.folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.canary = self.stack.enter_context(Canary())
        self.playwright = await self.stack.enter_async_context(async_playwright())
        return self

    async def __aexit__(self, *error):
        await self.kill()
        await self.stack.aclose()

    async def start(self):
        pid_file = self.folder / "pid"
        wrapper = self.folder / "browser"
        wrapper.write_text(f'#!/bin/sh\necho $$ >{pid_file}\nexec {self.executable} "$@"\n')
        wrapper.chmod(0o700)
        self.browser = await self.playwright.chromium.launch(
            executable_path=wrapper, args=["--no-sandbox"], downloads_path=self.folder
        )
        self.process = int(pid_file.read_text())

    async def kill(self):
        if self.browser:
            for process in self.processes:
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)
            with contextlib.suppress(Error):
                await self.browser.close()
            self.browser = None

    @property
    def processes(self):
        return descendants(self.process) | {self.process}

    async def reached(self, attack):
        """Return what this attack reaches; repeat the attack until it reaches its aim, at most TRIES times."""
        for _ in range(TRIES):
            found = await self.attempt(attack)
            if attack.aim in found or attack.aim == "honest":
                break
        return found

    async def attempt(self, attack):
        """Return what the attack reaches in one attempt; kill whatever it leaves running."""
        if self.browser is None or len(self.processes) > MOST_PROCESSES:
            await self.kill()
            await self.start()
        context = await self.browser.new_context()
        window = _Window(self, await context.new_page(), attack)
        await context.route(re.compile("^https:"), window.answer)
        context.on("page", lambda _page: window.found.add("trace"))
        window.page.on("download", lambda _download: window.found.add("trace"))
        visiting = asyncio.create_task(window.visit())
        watching = asyncio.create_task(window.watch())
        await asyncio.wait({visiting, watching}, return_when=asyncio.FIRST_COMPLETED)
        if window.found & {"denial", "next", "trace"} or attack.kind == "next":
            await self.kill()
        else:
            await context.close()
        visiting.cancel()
        watching.cancel()
        await asyncio.gather(visiting, watching, return_exceptions=True)
        if self.canary.traces():
            window.found.add("network")
        return window.found


class _Window:
    def __init__(self, naive, page, attack):
        self.naive = naive
        self.page = page
        self.attack = attack
        self.found = set()
        self.web_seconds = WEB_SECONDS

    async def visit(self):
        """Show the attack, twice if its aim is `vary`; if its aim is `next`, show a good page before and after it."""
        good, aim = page_controls()[0], self.attack.aim
        seconds = SECONDS.get(aim, PATIENCE)
        before = await self.picture(good, "before") if aim == "next" else b""
        try:
            async with asyncio.timeout(seconds):
                first = await self.picture(self.attack, "first")
                self.found |= set(seen(first, self.attack))
                if aim == "vary" and await self.picture_elsewhere(self.attack) != first:
                    self.found.add("vary")
        except Exception:
            self.found.add("denial")
        await self.wait()
        if aim == "next":
            try:
                async with asyncio.timeout(seconds):
                    if await self.picture(good, "after") != before:
                        self.found.add("next")
            except Exception:
                self.found.add("next")

    async def picture_elsewhere(self, page):
        """Return the picture that another user gets: later, in a lower window, with the pointer on it, in dark mode."""
        await self.page.emulate_media(**OTHER_TASTE)
        await self.page.mouse.move(200, 200)
        self.web_seconds = 0.0
        return await self.picture(page, "second", LATER, OTHER_HEIGHT_BEFORE)

    async def picture(self, page, visit, later=0.0, before=HEIGHT_BEFORE):
        path = self.naive.folder / f"{visit}.html"
        path.write_text(page.page(self.naive.canary, visit), "utf-8")
        await self.page.set_viewport_size({"width": 1280, "height": before})
        await self.page.goto(path.as_uri())
        await asyncio.sleep(later / 2)
        height = await self.page.evaluate("document.documentElement.scrollHeight")
        await self.page.set_viewport_size({"width": 1280, "height": max(HEIGHT_BEFORE, height)})
        await asyncio.sleep(later / 2)
        return await self.page.screenshot()

    async def answer(self, route):
        """Answer a request as the web would, without the network."""
        asset = await asyncio.to_thread(respond, route.request.url)
        if asset and route.request.resource_type == "image":
            await asyncio.sleep(self.web_seconds)
        with contextlib.suppress(Error):  # the page is closed
            await (
                route.fulfill(body=asset.body, content_type=asset.content_type)
                if asset
                else route.abort()
            )

    async def wait(self):
        """Wait for effects of a page after its picture was taken."""
        until = time.monotonic() + AFTERMATH
        while self.attack.aim not in self.found and time.monotonic() < until:
            await asyncio.sleep(0.05)
            if self.naive.canary.traces():
                self.found.add("network")

    async def watch(self):
        usual = memory_of(self.naive.processes)
        while True:
            await asyncio.sleep(0.1)
            if memory_of(self.naive.processes) - usual > MEMORY:
                return self.found.add("denial")


def seen(picture, attack):
    with Image.open(BytesIO(picture)) as image:
        if abs(image.height - HEIGHT) > 100 and attack.aim == "height":
            yield "height"
    if shows_canary(picture):
        yield "file"
