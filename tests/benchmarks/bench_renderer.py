"""Pages per second: the renderer, Firefox as driven by the paper's released code, and plain Playwright.

    python tests/benchmarks/bench_renderer.py [playwright firefox cached-firefox memory] [--pages 60] [--bundled]

The contestants take turns on the same pages. Each contestant first renders one page that is not counted. The pages are
those of official tasks, from `frontend.jsonl` in the folder COLBENCH_OFFICIAL_DATA, or with `--bundled` those of
bundled tasks.

Firefox: one window for all pages, each page loaded from a file, the full stylesheet from a server on this machine, and
pictures of the full page. One variant reads the stylesheet again for each page, the other keeps it in Firefox's memory.
Playwright: a fresh context for each page, the full stylesheet, and Playwright's own screenshots.
Renderer: as in runs, including blocks, with an empty cache of renders.

All contestants get the images that pages request from the same code. `memory` renders 400 pages per round with one
renderer and samples the memory of driver and browser (proportional set size).
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
import threading
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote, urlsplit

from bench import add_parts, benchmark, main
from data import frontend_pages, no_frontend_rows
from marionette import firefox
from records import Quantity, Ratio, Round
from usage import Spent, memory_mb, now

from colbench.errors import UserError
from colbench.sandbox.browser import Renderer, find_browser
from colbench.sandbox.browser.assets import respond
from colbench.sandbox.browser.assets.vendored import unpacked
from colbench.sandbox.browser.processes import family

if TYPE_CHECKING:
    from playwright.async_api import Browser, Route

REMOTE = re.compile(r"https?://[^\s\"'()<>]+")
CACHED = "/cached"
MEMORY_RENDERS = 400
AT_ONCE = 4
OURS, PLAYWRIGHT = "renderer", "Playwright"
FIREFOX = "Firefox"
CACHED_FIREFOX = "Firefox, stylesheet cached"
Contestant = Callable[[list[str]], Awaitable[Spent]]


class Answers(BaseHTTPRequestHandler):
    """A handler that answers the network requests of pages from this machine."""

    def do_GET(self) -> None:  # http.server requires this name
        content, kind = answer(parse_qs(urlsplit(self.path).query)["url"][0])
        self.send_response(200 if content else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header(
            "Cache-Control", "public, max-age=31536000" if CACHED in self.path else "no-store"
        )
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        return


def answer(url: str) -> tuple[bytes, str]:
    """Return the full stylesheet or a drawn image, with its content type; no content for any other address."""
    if "tailwind" in url:
        return unpacked("tailwind-2.2.19.min.css"), "text/css"
    asset = respond(url)
    return (asset.body, asset.content_type) if asset else (b"", "text/plain")


@contextmanager
def served() -> Iterator[str]:
    """Yield the address of a server on this machine that answers with `Answers`."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def firefox_program() -> str | None:
    return shutil.which("firefox-esr") or shutil.which("firefox")


async def with_firefox(pages: list[str], kept: str) -> Spent:
    """Take pictures of pages in one window of Firefox; `kept` is CACHED if Firefox may cache answers, or else empty."""
    return await asyncio.to_thread(_with_firefox, pages, kept)


def _with_firefox(pages: list[str], kept: str) -> Spent:
    program = firefox_program() or ""
    with served() as address, tempfile.TemporaryDirectory() as folder, firefox(program) as browser:
        urls, place = [], f"{address}{kept}/?url="
        for number, page in enumerate(pages):
            path = Path(folder, f"{number}.html")
            path.write_text(REMOTE.sub(lambda found: place + quote(found[0], safe=""), page))
            urls.append(path.as_uri())
        browser.picture(urls[0])
        before = now()
        for url in urls:
            browser.picture(url)
        return now() - before


async def with_playwright(pages: list[str]) -> Spent:
    """Take pictures of pages in fresh contexts of Chromium, with the full stylesheet."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser())
        try:
            return await timed(lambda page: naive_picture(browser, page), pages, 1)
        finally:
            await browser.close()


async def naive_picture(browser: Browser, page: str) -> bytes:
    """Take a picture of a page in the simplest way."""

    async def fulfil(route: Route) -> None:
        if route.request.url == "https://page.invalid/":
            await route.fulfill(body=page, content_type="text/html; charset=utf-8")
        else:
            body, kind = answer(route.request.url)
            await route.fulfill(body=body, content_type=kind, status=200 if body else 404)

    context = await browser.new_context(viewport={"width": 1280, "height": 720})
    try:
        await context.route("**/*", fulfil)
        tab = await context.new_page()
        await tab.goto("https://page.invalid/")
        return await tab.screenshot(full_page=True)
    finally:
        await context.close()


async def with_renderer(pages: list[str]) -> Spent:
    """Render pages in the same way as runs."""
    with tempfile.TemporaryDirectory() as folder:
        async with Renderer(workers=AT_ONCE, cache=Path(folder)) as renderer:
            return await timed(lambda page: rendered(renderer, page), pages, AT_ONCE)


async def rendered(renderer: Renderer, page: str) -> None:
    if (await renderer.render(page)).outcome != "rendered":
        raise AssertionError("a page was not rendered")


async def timed(work: Callable[[str], Awaitable[object]], pages: list[str], at_once: int) -> Spent:
    """Return the time spent on all pages; a first page is not counted."""
    await work(pages[0] + "<!-- first -->")
    queue = iter(pages)

    async def work_through() -> None:
        for page in queue:
            await work(page)

    before = now()
    await asyncio.gather(*(work_through() for _ in range(at_once)))
    return now() - before


async def memory(renderer: Renderer, pages: list[str], number: int) -> Round:
    """Return the peak memory of driver and browser while pages are rendered."""
    first = number * MEMORY_RENDERS
    batch = [f"{pages[n % len(pages)]}<!-- {n} -->" for n in range(first, first + MEMORY_RENDERS)]
    rendering = asyncio.gather(*(rendered(renderer, page) for page in batch))
    highest = 0.0
    while not rendering.done():
        highest = max(highest, memory_mb(family(os.getpid())[1:]))
        await asyncio.wait({rendering}, timeout=0.5)
    await rendering
    return {"renderer: memory, highest of 400 renders": Quantity(highest, "MB")}


CONTESTANTS: dict[str, tuple[str, Contestant]] = {
    "playwright": (PLAYWRIGHT, with_playwright),
    "firefox": (FIREFOX, partial(with_firefox, kept="")),
    "cached-firefox": (CACHED_FIREFOX, partial(with_firefox, kept=CACHED)),
}


def options(parser: ArgumentParser) -> None:
    add_parts(parser, [*CONTESTANTS, "memory"])
    parser.add_argument("--pages", type=int, default=60)
    parser.add_argument("--bundled", action="store_true", help="use pages of bundled tasks")


def missing(given: Namespace) -> str:
    """Return what this machine lacks, or an empty string."""
    try:
        find_browser()
    except UserError as error:
        return str(error)
    if any("firefox" in part for part in given.parts) and firefox_program() is None:
        return "Firefox is not installed: apt-get install firefox-esr"
    return "" if given.bundled else no_frontend_rows()


def times_as_fast(way: str, wanted: float | None = None) -> Iterator[Ratio]:
    yield Ratio(
        f"times as fast as {way}",
        f"{way}: wall per page",
        f"{OURS}: wall per page",
        "higher",
        wanted,
    )
    yield Ratio(f"CPU time relative to {way}", f"{OURS}: CPU per page", f"{way}: CPU per page")


@benchmark(
    "renderer",
    ratios=[
        *times_as_fast(PLAYWRIGHT, wanted=4.0),
        *times_as_fast(FIREFOX, wanted=3.0),
        *times_as_fast(CACHED_FIREFOX),
    ],
    options=options,
    quick="playwright --bundled --pages 6",
    needs=missing,
)
async def renderer(given: Namespace) -> AsyncIterator[Round]:
    """Measure the renderer and the other contestants in turn."""
    pages = frontend_pages(given.pages, bundled=given.bundled)
    with tempfile.TemporaryDirectory() as folder:
        async with Renderer(workers=AT_ONCE, cache=Path(folder)) as lasting:
            for number in range(given.rounds):
                contestants = [CONTESTANTS[part] for part in given.parts if part in CONTESTANTS]
                found: Round = {}
                for name, way in [(OURS, with_renderer), *contestants]:
                    spent = await way(pages)
                    found[f"{name}: pages per second"] = Quantity(len(pages) / spent.wall, "")
                    found[f"{name}: wall per page"] = Quantity(1000 * spent.wall / len(pages), "ms")
                    found[f"{name}: CPU per page"] = Quantity(1000 * spent.cpu / len(pages), "ms")
                if "memory" in given.parts:
                    found |= await memory(lasting, pages, number)
                yield found


if __name__ == "__main__":
    main(renderer)
