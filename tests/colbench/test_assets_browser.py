"""Prepared pages in a real browser: the same picture as with the full stylesheet, and the vendored fonts."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.async_api import Browser, Route, async_playwright

from colbench.sandbox.browser.assets import SCRIPT_READY, fonts_environment, prepare, respond
from colbench.sandbox.browser.assets.vendored import FONTS

HOME = "https://page.invalid/"
LINK = '<link href="https://cdn.jsdelivr.net/npm/tailwindcss@2.2.19/dist/tailwind.min.css" rel="stylesheet">'
PLAY = '<script src="https://cdn.tailwindcss.com"></script>'
FAMILIES = {
    "system-ui": "Liberation Sans",
    "ui-sans-serif, system-ui, 'Segoe UI', 'Noto Color Emoji'": "Liberation Sans",
    "Inter, Roboto, serif": "Liberation Sans",
    "'Helvetica Neue'": "Liberation Sans",
    "Georgia": "Liberation Serif",
    "'Playfair Display', serif": "Liberation Serif",
    "'DejaVu Sans', monospace": "Liberation Mono",
    "ui-monospace, Menlo": "Liberation Mono",
    "Courier New": "Liberation Mono",
}
VARIANTS = f"""<html>
<style>.mine {{ padding: 3px; color: red }} .p-4 {{ color: green }}</style>{LINK}<style>.p-2 {{ padding: 9px }}</style>
<body class="bg-gray-100 FONT-SERIF">
<div class="container mx-auto md:container px-4 sm:px-6 lg:px-8 xl:px-12 2xl:px-1/2">
<h1 class="text-4xl md:text-5xl font-extrabold tracking-tight italic underline p-4 mine">Title</h1>
<div class="grid grid-cols-1 md:grid-cols-2 xl:grid-cols-3 2xl:grid-cols-6 gap-4 divide-x divide-red-500">
<p class="p-2 w-1/2 2xl:w-full -mt-1 space-x-4 ring-2 ring-blue-300"><b>a</b><b>b</b></p>
<p class="bg-gradient-to-r from-green-400 via-blue-500 to-purple-600 rounded-t-lg shadow-lg">b</p>
<p class="transform rotate-6 scale-110 skew-y-3 opacity-75 tabular-nums truncate">01234567890</p>
<p class="&#112;x-8 filter blur-sm hover:bg-red-500 group-hover:p-8 focus-within:p-3 first:p-8 last:p-8">c</p></div>
<form class="group"><input class="placeholder-green-700 border-2 border-dashed" placeholder="there">
<input type="checkbox" class="appearance-none h-6 w-6 border checked:bg-blue-600" checked>
<textarea class="resize-none w-full p-1.5" rows="2">{LINK}</textarea><select><option>x</select></form>
<table class="table-auto border-collapse"><tr class="odd:bg-white even:bg-gray-200"><td class="border">d</table>
<ul class="list-disc list-inside"><li class="line-through">e<li class="animate-pulse sr-only">f</ul>
<img class="object-cover h-20 w-full" src="https://picsum.photos/id/48/300/200-estate"><hr><code>code</code>
</div></body></html>"""


class Camera:
    """A camera that takes pictures as the renderer does, but of any markup under any policy."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser

    async def picture(
        self, page: str, *, policy: str = "", script: bool = False, width: int = 1280
    ) -> bytes:
        context = await self._browser.new_context(
            viewport={"width": width, "height": 720}, java_script_enabled=script
        )

        async def answer(route: Route) -> None:
            headers = {"Content-Security-Policy": policy} if policy else {}
            if route.request.url == HOME:
                await route.fulfill(
                    body=page, content_type="text/html; charset=utf-8", headers=headers
                )
            elif asset := respond(route.request.url):
                await route.fulfill(body=asset.body, content_type=asset.content_type)
            else:
                await route.abort()

        await context.route("**/*", answer)
        opened = await context.new_page()
        await opened.goto(HOME)
        if script:
            await opened.evaluate(SCRIPT_READY)
        picture = await opened.screenshot(full_page=True, animations="disabled")
        await context.close()
        return picture

    async def prepared(self, page: str, width: int = 1280) -> bytes:
        ready = prepare(page)
        return await self.picture(
            ready.page, policy=ready.csp, script=ready.needs_script, width=width
        )

    async def fonts(self, page: str) -> list[set[str]]:
        """Return the font families that each paragraph is drawn with."""
        opened = await self._browser.new_page(java_script_enabled=False)
        await opened.set_content(page)
        session: Any = await opened.context.new_cdp_session(opened)
        await session.send("DOM.enable")
        await session.send("CSS.enable")
        root = (await session.send("DOM.getDocument"))["root"]["nodeId"]
        found = await session.send("DOM.querySelectorAll", {"nodeId": root, "selector": "p"})
        fonts = [
            (await session.send("CSS.getPlatformFontsForNode", {"nodeId": node}))["fonts"]
            for node in found["nodeIds"]
        ]
        await opened.close()
        return [{font["familyName"] for font in used} for used in fonts]


def _launch(playwright: Any, browser: Path, environment: dict[str, str]) -> Any:
    return playwright.chromium.launch(
        executable_path=str(browser),
        args=[
            "--hide-scrollbars",
            "--font-render-hinting=none",
            "--disable-lcd-text",
            "--disable-gpu",
        ],
        env={**os.environ, **environment},
        chromium_sandbox=False,
    )


def _environment_with(fonts: Path, home: Path) -> dict[str, str]:
    """Return the environment of our fonts plus a folder of other fonts."""
    environment = fonts_environment(home)
    file = Path(environment["FONTCONFIG_FILE"])
    file.write_text(file.read_text().replace("<dir>", f"<dir>{fonts}</dir><dir>"))
    return environment


@pytest.fixture
async def camera(browser: Path, tmp_path: Path) -> AsyncIterator[Camera]:
    async with async_playwright() as playwright:
        launched = await _launch(playwright, browser, fonts_environment(tmp_path))
        yield Camera(launched)
        await launched.close()


@pytest.fixture(scope="session")
def real_pages() -> list[str]:
    """Return twelve released pages, spread over the file, and none with a video, because its spinner moves."""
    folder = os.environ.get("COLBENCH_OFFICIAL_DATA")
    if not folder:
        pytest.skip("COLBENCH_OFFICIAL_DATA names no folder with frontend.jsonl")
    lines = (Path(folder) / "frontend.jsonl").read_text().splitlines()
    pages = [json.loads(line)["ground_truth"] for line in lines]
    return [page for page in pages if "<video" not in page][5::16][:12]


@pytest.mark.parametrize("doctype", ["", pytest.param("<!DOCTYPE html>", marks=pytest.mark.slow)])
async def test_purged_pages_look_the_same_as_with_the_whole_sheet(
    camera: Camera, doctype: str
) -> None:
    for width in (600, 1354, 1600):
        whole = await camera.picture(doctype + VARIANTS, width=width)
        assert await camera.prepared(doctype + VARIANTS, width) == whole
    without = await camera.picture(doctype + VARIANTS.replace(LINK, ""))
    assert without != await camera.prepared(doctype + VARIANTS)


@pytest.mark.weekly
async def test_real_pages_look_the_same_as_with_the_whole_sheet(
    camera: Camera, real_pages: list[str]
) -> None:
    for page in real_pages:
        assert await camera.prepared(page) == await camera.picture(page)


async def test_the_play_script_applies_its_configuration_and_other_scripts_are_blocked(
    camera: Camera,
) -> None:
    config = "<script>tailwind.config = {theme: {extend: {colors: {brand: '#123456'}}}}</script>"
    attack = "<script>document.body.style.background = 'red'</script>"
    page = f'<html><head>{PLAY}{config}</head><body class="bg-brand p-[13px]" onload="{attack[8:-9]}">{attack}</html>'
    with Image.open(BytesIO(await camera.prepared(page))) as image:
        assert image.convert("RGB").getpixel((5, 5)) == (0x12, 0x34, 0x56)


@pytest.mark.weekly
async def test_the_version_3_script_draws_a_page_like_the_version_2_sheet(
    camera: Camera,
) -> None:
    body = '<body class="bg-gray-100 p-8"><p class="text-3xl font-bold bg-blue-500 rounded p-4">hi</p></body>'
    script, sheet = f"<!doctype html>{PLAY}{body}", f"<!doctype html>{LINK}{body}"
    assert await camera.prepared(script) == await camera.prepared(sheet)


async def test_a_failing_script_leaves_the_page_without_styles(camera: Camera) -> None:
    style = "<style type='text/tailwindcss'>p { @apply no-such-class }</style>"
    page = f"<!doctype html><html><head>{PLAY}{style}</head><body><p>text</p></body></html>"
    assert await camera.prepared(page) == await camera.picture(page.replace(PLAY, ""))


async def test_font_families_are_drawn_with_the_vendored_fonts(camera: Camera) -> None:
    texts = "".join(f'<p style="font-family: {family}">text 1</p>' for family in FAMILIES)
    assert await camera.fonts(texts) == [{font} for font in FAMILIES.values()]


async def test_emoji_and_symbols_have_their_own_fonts(camera: Camera) -> None:
    page = "<body style='font-family: system-ui'><p>😀🚀❤️👩‍💻🇫🇷<p>★☆✓☰✉"
    assert await camera.fonts(page) == [{"Twemoji Mozilla"}, {"ColBench Symbols"}]


async def test_emoji_are_drawn_in_color(camera: Camera) -> None:
    picture = await camera.picture('<!doctype html><p style="font-size:99px">😀')
    with Image.open(BytesIO(picture)) as image:
        colors = image.convert("RGB").getcolors(100_000) or []
    assert (
        sum(n for n, (red, green, blue) in colors if red > 240 and green > 180 and blue < 100)
        > 1000
    )


@pytest.mark.weekly
async def test_fonts_of_the_user_are_not_used(
    browser: Path, camera: Camera, tmp_path: Path
) -> None:
    """Install a font under another name: a browser that may see it draws with it, and ours does not."""
    folder = tmp_path / ".fonts"
    folder.mkdir()
    font = (FONTS / "LiberationMono-Bold.ttf").read_bytes()
    for encoding in ("utf-16-be", "ascii"):
        font = font.replace("Liberation Mono".encode(encoding), "Other Typefaces".encode(encoding))
    (folder / "other.ttf").write_bytes(font)
    page = "<!doctype html><p style='font-family: Other Typefaces, serif'>text"
    environment = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    async with async_playwright() as playwright:
        ours = await _launch(playwright, browser, environment | fonts_environment(tmp_path))
        assert await Camera(ours).picture(page) == await camera.picture(page)
        assert await Camera(ours).fonts(page) == [{"Liberation Serif"}]
        await ours.close()
        theirs = await _launch(
            playwright, browser, environment | _environment_with(folder, tmp_path)
        )
        assert await Camera(theirs).fonts(page) == [{"Other Typefaces"}]
        await theirs.close()
