"""Pages a second: the renderer beside Firefox as the released code drives it, and beside plain Playwright.

    python tests/benchmarks/bench_renderer.py FRONTEND.JSONL [--memory]

The ways, one after the other, on the same real pages, each warmed up with one page:
Firefox: a reused window, the page from a file, the full stylesheet from a server on this machine, a picture of
the full page; once with the stylesheet read anew for each page, once with it kept in Firefox's memory.
Playwright: a fresh context for each page, the full stylesheet, Playwright's own picture.
Renderer: as runs use it, blocks included, with an empty store.
Every way gets the pictures that pages ask for from the same code. `--memory` renders 2,000 pages in a row and
samples the memory of driver and browser (PSS).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, quote, urlsplit

import msgspec
from marionette import firefox
from playwright.async_api import Browser, Route, async_playwright

from colbench.pages.extract import extract_page
from colbench.sandbox.browser import Renderer, find_browser
from colbench.sandbox.browser.assets import respond
from colbench.sandbox.browser.assets.vendored import unpacked
from colbench.sandbox.browser.processes import family

REMOTE = re.compile(r"https?://[^\s\"'()<>]+")
CACHED = "/cached"
MEMORY_RENDERS, MEMORY_SAMPLES = 2000, 20


class Speed(NamedTuple):
    """How fast pages were rendered."""

    pages_a_second: float
    cpu_milliseconds: float


class Answers(BaseHTTPRequestHandler):
    """What pages ask of the network, from this machine."""

    def do_GET(self) -> None:  # the name that http.server calls
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
    """The full stylesheet or a drawn picture, with its type; empty for anything else."""
    if "tailwind" in url:
        return unpacked("tailwind-2.2.19.min.css"), "text/css"
    asset = respond(url)
    return (asset.body, asset.content_type) if asset else (b"", "text/plain")


@contextmanager
def served() -> Iterator[str]:
    """The address under which the answers are."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def with_firefox(pages: list[str], kept: str) -> Speed:
    """How fast a reused window of Firefox is; `kept` is where answers may be kept, or not."""
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        raise SystemExit("there is no firefox-esr to compare with: apt-get install firefox-esr")
    with served() as address, tempfile.TemporaryDirectory() as folder, firefox(program) as browser:
        urls, place = [], f"{address}{kept}/?url="
        for number, page in enumerate(pages):
            path = Path(folder, f"{number}.html")
            path.write_text(REMOTE.sub(lambda found: place + quote(found[0], safe=""), page))
            urls.append(path.as_uri())
        browser.picture(urls[0])
        speed = stopwatch(len(urls))
        for url in urls:
            browser.picture(url)
        return speed()


async def with_playwright(pages: list[str], at_once: int) -> Speed:
    """Pages a second of fresh contexts in Chromium, with the full stylesheet."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser())
        try:
            return await rate(lambda page: naive_picture(browser, page), pages, at_once)
        finally:
            await browser.close()


async def naive_picture(browser: Browser, page: str) -> bytes:
    """A page as one would picture it at first."""

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


async def with_renderer(pages: list[str], at_once: int) -> Speed:
    """Pages a second of the renderer."""
    with tempfile.TemporaryDirectory() as folder:
        async with Renderer(workers=at_once, cache=Path(folder)) as renderer:
            return await rate(lambda page: rendered(renderer, page), pages, at_once)


async def rendered(renderer: Renderer, page: str) -> None:
    if (await renderer.render(page)).outcome != "rendered":
        raise AssertionError("a page was not rendered")


async def rate(work: Callable[[str], Awaitable[object]], pages: list[str], at_once: int) -> Speed:
    """Pages a second, after a first page that is not counted."""
    await work(pages[0] + "<!-- first -->")
    queue = iter(pages)

    async def work_off() -> None:
        for page in queue:
            await work(page)

    speed = stopwatch(len(pages))
    await asyncio.gather(*(work_off() for _ in range(at_once)))
    return speed()


def stopwatch(pages: int) -> Callable[[], Speed]:
    """Starts now; what it returns says how fast so many pages were when it is called."""
    wall, busy = time.perf_counter(), cpu()
    return lambda: Speed(pages / (time.perf_counter() - wall), 1000 * (cpu() - busy) / pages)


async def memory(pages: list[str], at_once: int, count: int) -> list[int]:
    """MB that driver and browser take, sampled while `count` pages are rendered."""
    samples = []
    with tempfile.TemporaryDirectory() as folder:
        async with Renderer(workers=at_once, cache=Path(folder)) as renderer:
            step = count // MEMORY_SAMPLES
            for start in range(0, count, step):
                batch = [f"{pages[n % len(pages)]}<!-- {n} -->" for n in range(start, start + step)]
                rendering = asyncio.gather(*(rendered(renderer, page) for page in batch))
                highest = 0
                while not rendering.done():
                    highest = max(highest, sum(map(proportional, family(os.getpid())[1:])))
                    await asyncio.wait({rendering}, timeout=0.5)
                await rendering
                samples.append(highest // 1024)
    return samples


def cpu() -> float:
    """Seconds of processor time so far, of this process, of all below it, and of those that these saw end."""
    return sum(map(times, family(os.getpid()))) / os.sysconf("SC_CLK_TCK")


def times(pid: int) -> int:
    """Clock ticks of a process and its ended children."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(map(int, fields[11:15]))


def proportional(pid: int) -> int:
    """Kilobytes that a process has, what it shares divided by how many share it."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return int(re.findall(r"^Pss:\s+(\d+)", text, re.M)[0])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path, help="real frontend rows")
    parser.add_argument("--pages", type=int, default=60)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--memory", action="store_true", help="sample memory over many renders too")
    parser.add_argument("--renders", type=int, default=MEMORY_RENDERS, help="how many for --memory")
    args = parser.parse_args()
    rows = [msgspec.json.decode(line) for line in args.rows.read_bytes().splitlines()]
    shown = [page for row in rows if (page := extract_page(row["ground_truth"]))]
    pages = shown[: args.pages]

    ways: dict[str, Callable[[], Speed]] = {
        "Firefox, stylesheet read each time": lambda: with_firefox(pages, ""),
        "Firefox, stylesheet kept": lambda: with_firefox(pages, CACHED),
        "Playwright, fresh context, full CSS": lambda: asyncio.run(with_playwright(pages, 1)),
        f"renderer, {args.at_once} at once": lambda: asyncio.run(
            with_renderer(pages, args.at_once)
        ),
    }
    print(f"{len(pages)} real pages                        pages/s   CPU ms a page")
    speeds = []
    for name, way in ways.items():
        speeds.append(way())
        print(f"{name:<36}{speeds[-1].pages_a_second:7.2f}   {speeds[-1].cpu_milliseconds:7.0f}")
    *others, ours = speeds
    ratios = [f"{ours.pages_a_second / other.pages_a_second:.1f} times" for other in others]
    print("the renderer is", ", ".join(ratios), "as fast")
    if args.memory:
        taken = asyncio.run(memory(shown, args.at_once, args.renders))
        print(
            f"memory of driver and browser over {args.renders} renders, the highest of each twentieth (MB):"
        )
        print(*taken)


if __name__ == "__main__":
    main()
