"""Pages that vary in an ordinary browser look the same in two renderers, also on a busy machine."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from patience import PATIENT
from playwright.async_api import async_playwright

from colbench.pages.extract import extract_page
from colbench.pages.render import Render
from colbench.pages.store import RenderStore
from colbench.sandbox.browser import Renderer
from colbench.sandbox.browser.attacks import Canary, PageAttack, page_attacks, page_controls
from colbench.sandbox.browser.launch import Launcher

VARYING = [page for page in page_attacks() if page.kind == "varying"]
SAMPLE = 6
"""The test of varying pages on a busy machine renders one in this many pages."""
BUSY_LOOPS = 3
HEIGHTS = {
    "content visibility": 8020,
    "content visibility in a style attribute": 8020,
    "content visibility in a layer": 8020,
    "content visibility in a shadow tree": 8020,
    "content visibility in a closed shadow tree": 8020,
    "content visibility under another name": 8020,
    "lazy picture": 6963,
}
"""Heights of pages that could be measured too early, before they are completely laid out."""


@pytest.fixture
def busy() -> Iterator[None]:
    """Keep more processes busy than the machine has processors."""
    loops = [subprocess.Popen([sys.executable, "-c", "while 1: pass"]) for _ in range(BUSY_LOOPS)]
    yield
    for loop in loops:
        loop.kill()
        loop.wait()


@pytest.fixture
def real_pages() -> list[str]:
    folder = os.environ.get("COLBENCH_OFFICIAL_DATA")
    if not folder:
        pytest.skip("COLBENCH_OFFICIAL_DATA names no folder with frontend.jsonl")
    lines = Path(folder, "frontend.jsonl").read_bytes().splitlines()
    return [extract_page(msgspec.json.decode(line)["ground_truth"]) or "" for line in lines]


async def rendered(pages: list[str], browser: Path, cache: Path, workers: int) -> list[Render]:
    async with Renderer(str(browser), cache=cache, workers=workers, limits=PATIENT) as renderer:
        return await asyncio.gather(*map(renderer.render, pages))


async def rendered_by_two(pages: list[str], browser: Path, folder: Path) -> list[list[Render]]:
    """Return the renders of one renderer, and then those of another that renders more pages in parallel."""
    one = await rendered(pages, browser, folder / "one", 1)
    return [one, await rendered(pages, browser, folder / "other", 3)]


def differing(names: list[str], runs: list[list[Render]]) -> list[str]:
    """Return the names of the pages whose outcome, picture or blocks differ between the two runs."""
    one, other = ([(each.outcome, each.picture, each.blocks) for each in run] for run in runs)
    return [name for name, a, b in zip(names, one, other, strict=True) if a != b]


def source(page: PageAttack) -> str:
    with Canary() as canary:
        return page.page(canary, "1")


def test_the_corpus_has_at_least_60_varying_pages() -> None:
    assert len(VARYING) >= 60


@pytest.mark.parametrize("name", HEIGHTS)
async def test_the_picture_includes_content_that_appears_only_on_scrolling(
    name: str, renderer: Renderer
) -> None:
    (page,) = (page for page in VARYING if page.name == name)
    render = await renderer.render(source(page))
    assert (render.outcome, render.height) == ("rendered", HEIGHTS[name])


@pytest.mark.slow
async def test_a_varying_page_has_no_picture_and_is_remembered(
    browser: Path, tmp_path: Path
) -> None:
    (page,) = (page for page in VARYING if page.name == "picture animated by style")
    async with Renderer(str(browser), cache=tmp_path) as renderer:
        render = await renderer.render(source(page))
        assert (render.outcome, render.picture, renderer.repeated) == ("varies", b"", 1)
    assert RenderStore(tmp_path).get(render.key) == render


async def test_a_repainted_page_looks_as_if_it_was_drawn_once(
    browser: Path, tmp_path: Path
) -> None:
    """Repaint an area whose edge crosses rounded corners: a partial repaint would change their pixels by one level."""
    repaint = """() => {
      const red = new CSSStyleSheet();
      red.replaceSync("* { color: red }");
      document.adoptedStyleSheets = document.adoptedStyleSheets.length ? [] : [red];
    }"""
    async with async_playwright() as playwright:
        started, _pid = await Launcher(browser, tmp_path).start(playwright)
        page = await started.new_page()
        await page.set_content(source(page_controls()[0]))
        pictures = [await page.screenshot()]
        for _ in range(2):
            await page.evaluate(repaint)
            pictures.append(await page.screenshot())
        await started.close()
    black, red, black_again = pictures
    assert black != red
    assert black == black_again


async def test_content_hidden_on_purpose_stays_hidden(renderer: Renderer) -> None:
    plain = await renderer.render("<p>Shown.</p>")
    for hidden in ('<p hidden="until-found">x', '<p style="content-visibility:hidden">x'):
        render = await renderer.render(f"<p>Shown.</p>{hidden}")
        assert [block.text for block in render.blocks] == [block.text for block in plain.blocks]


@pytest.mark.weekly
async def test_every_varying_page_looks_the_same_in_two_processes(
    browser: Path, tmp_path: Path
) -> None:
    runs = await rendered_by_two(list(map(source, VARYING)), browser, tmp_path)
    assert differing([page.name for page in VARYING], runs) == []
    assert {render.outcome for run in runs for render in run} <= {"rendered", "varies"}


@pytest.mark.weekly
@pytest.mark.usefixtures("busy")
async def test_varying_pages_look_the_same_on_a_busy_machine(browser: Path, tmp_path: Path) -> None:
    pages = VARYING[::SAMPLE]
    runs = await rendered_by_two(list(map(source, pages)), browser, tmp_path)
    assert differing([page.name for page in pages], runs) == []


@pytest.mark.weekly
@pytest.mark.usefixtures("busy")
async def test_real_pages_look_the_same_on_a_busy_machine(
    real_pages: list[str], browser: Path, tmp_path: Path
) -> None:
    runs = await rendered_by_two(real_pages, browser, tmp_path)
    assert differing(list(map(str, range(len(real_pages)))), runs) == []
    assert {render.outcome for run in runs for render in run} == {"rendered"}
