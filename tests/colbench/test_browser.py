"""Rendering of pages to pictures: the same bytes every time, one outcome for every page, and what is stored."""

from __future__ import annotations

import asyncio
import io
import re
import shutil
from hashlib import sha256
from pathlib import Path

import PIL
import pytest
from msgspec.structs import replace
from patience import PATIENT
from PIL import Image

from colbench.errors import RenderError
from colbench.pages.render import Render
from colbench.pages.store import RenderStore
from colbench.sandbox.browser import Renderer, assets
from colbench.sandbox.browser.assets.vendored import content_hash
from colbench.sandbox.browser.limits import Limits
from colbench.sandbox.browser.renderer import CODE

MOVING = {
    "animation that ends": "<style>@keyframes a{from{opacity:0}to{opacity:1}}p{animation:a 1s}</style><p>x",
    "endless animation": "<style>@keyframes a{to{margin-left:500px}}p{animation:a .3s infinite}</style><p>x",
    "animation in a shadow tree": '<div><template shadowrootmode="open"><style>@keyframes a{to{margin-left:500px}}'
    "p{animation:a .3s infinite}</style><p>x</p></template></div>",
    "animated drawing": '<svg width="500"><rect width="9" height="9"><animate attributeName="x" to="400" dur="1s" '
    'repeatCount="indefinite"/></rect></svg>',
    "marquee": "<marquee width=500>x</marquee>",
    "progress": "<progress></progress>",
    "caret": "<input autofocus value=x>",
    "clock": "<script>document.write(Date.now() + Math.random())</script><p>x",
    "Tailwind script": '<script src="https://cdn.tailwindcss.com"></script><p class="p-9 animate-spin bg-red-500">x',
    "drawn picture": '<img src="https://picsum.photos/300/200"><p>x',
}
GREEN_SQUARE = (
    '<!doctype html><body style="margin:0"><div style="width:40px;height:30px;background:#00ff00">'
)


def picture(render: Render) -> Image.Image:
    with Image.open(io.BytesIO(render.picture)) as image:
        image.load()
        return image


def files(folder: Path, pattern: str) -> list[Path]:
    return list(folder.glob(pattern))


def test_the_environment_names_everything_that_a_picture_depends_on(
    browser: Path, tmp_path: Path
) -> None:
    usual = Renderer(str(browser), cache=tmp_path).environment
    known, *others = usual.split("; ")
    assert re.fullmatch(r"Chromium [\d.]+ \((headless shell|full)\)", known)
    assert others == [f"assets {assets.VERSION}", f"code {CODE}", f"Pillow {PIL.__version__}"]
    hurried = Renderer(str(browser), cache=tmp_path, limits=Limits(wall_seconds=1))
    assert hurried.environment.startswith(f'{usual}; limits {{"page_bytes":')


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("launch.py", True),
        ("sight/ink.py", True),
        ("attacks/bombs.py", False),
        ("README.md", False),
    ],
)
def test_only_changes_of_the_rendering_code_change_its_hash(
    tmp_path: Path, file: str, counts: bool
) -> None:
    folder = tmp_path / "browser"
    shutil.copytree(Path(assets.__file__).parents[1], folder)
    with (folder / file).open("a") as changed:
        changed.write("# changed")
    assert (content_hash(folder, "*.py", without="attacks") != CODE) is counts


async def test_a_picture_shows_the_whole_page(renderer: Renderer) -> None:
    render = await renderer.render(GREEN_SQUARE + '</div><div style="height:1970px">')
    image = picture(render)
    assert (render.outcome, render.width, render.height) == ("rendered", 1280, 2000)
    assert (image.mode, image.size) == ("RGB", (1280, 2000))
    assert image.getpixel((39, 29)) == (0, 255, 0)
    assert image.getpixel((40, 29)) == image.getpixel((39, 30)) == (255, 255, 255)
    assert render.blocks[0].background == "#00ff00"
    assert (render.cut, render.refused, render.note) == (False, (), "")


@pytest.mark.parametrize(
    ("page", "size"),
    [
        ('<html><body style="margin:0"><div style="height:300px">', (1366, 300)),
        ('<html><body><div style="height:300px">', (1366, 316)),
        ('<html><body style="margin:0"><div style="height:100vh">', (1366, 682)),
        ('<html><body style="margin:0"><div style="height:683px">', (1354, 683)),
        ('<html><body style="margin:0;height:100%">', (1366, 682)),
        ('<html><body style="margin:0;height:300px"><p style="position:absolute;top:900px;margin:0;height:9px">',
         (1366, 300)),
    ],
)  # fmt: skip
async def test_official_pictures_have_the_size_that_firefox_gives_them(
    renderer: Renderer, page: str, size: tuple[int, int]
) -> None:
    official = await renderer.render(page, "official")
    assert (official.width, official.height) == picture(official).size == size


async def test_the_official_picture_has_its_own_size_and_key(renderer: Renderer) -> None:
    page = '<html><body style="margin:0"><div style="height:100vh;background:#0000ff">'
    default, official = await renderer.render(page), await renderer.render(page, "official")
    assert (default.width, default.height) == picture(default).size == (1280, 720)
    assert (official.mode, default.mode) == ("official", "default")
    assert official.key != default.key


async def test_a_tall_page_is_cut(renderer: Renderer) -> None:
    render = await renderer.render(GREEN_SQUARE + '</div><div style="height:8163px">')
    assert (render.cut, render.height) == (True, 8192)
    assert picture(render).size == (1280, 8192)


@pytest.mark.slow
async def test_moving_pages_give_the_same_bytes_with_one_and_with_four_workers(
    browser: Path, tmp_path: Path
) -> None:
    hashes = []
    for workers in (1, 4):
        cache = tmp_path / str(workers)
        async with Renderer(str(browser), workers=workers, cache=cache, limits=PATIENT) as renderer:
            renders = await asyncio.gather(*map(renderer.render, MOVING.values()))
        assert {render.outcome for render in renders} == {"rendered"}
        hashes.append([sha256(render.picture).hexdigest() for render in renders])
    differing = [name for name, *two in zip(MOVING, *hashes, strict=True) if two[0] != two[1]]
    assert differing == []


async def test_a_finite_animation_is_captured_in_its_final_state(renderer: Renderer) -> None:
    render = await renderer.render(MOVING["animation that ends"])
    assert picture(render).convert("L").getextrema() < (50, 255)  # the text is there, and black


async def test_scripts_do_not_run(renderer: Renderer) -> None:
    plain = await renderer.render("<body><p>x")
    for script in ("while(1);", "alert(1)", "document.body.style.background = 'red'"):
        render = await renderer.render(f"<body><p>x<script>{script}</script>")
        assert render.picture == plain.picture


async def test_refused_requests_of_a_page_are_listed(renderer: Renderer) -> None:
    render = await renderer.render(
        '<meta http-equiv="refresh" content="0;url=https://elsewhere.example/">'
        '<link rel="stylesheet" href="https://styles.example/a.css"><img src="http://127.0.0.1:1/a.png">'
        '<img src="https://picsum.photos/30/20"><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">'
    )
    assert render.outcome == "rendered"
    assert render.refused == (
        "http://127.0.0.1:1/a.png",
        "https://elsewhere.example/",
        "https://styles.example/a.css",
    )


async def test_a_missing_page_has_the_outcome_no_page_and_an_empty_one_is_rendered(
    renderer: Renderer,
) -> None:
    render = await renderer.render(None)
    assert (render.outcome, render.picture) == ("no page", b"")
    assert (await renderer.render("")).outcome == "rendered"


@pytest.mark.parametrize(
    ("page", "note"),
    [
        ("x" * 2_000_001, "2,000,001 bytes"),
        ("<br>" * 30_001, "30,001 elements"),
        ("<div>" * 1_001, "1,001 deep"),
        ("".join(f"<img src=https://a.example/{n}>" for n in range(301)), "more than 300 requests"),
    ],
)
async def test_a_page_over_a_limit_is_too_big_with_the_reason(
    renderer: Renderer, page: str, note: str
) -> None:
    render = await renderer.render(page)
    assert (render.outcome, render.picture) == ("too big", b"")
    assert note in render.note


async def test_elements_without_end_tags_do_not_count_as_nested(renderer: Renderer) -> None:
    page = "<table>" + "<tr><td>x" * 600 + "</table><ul>" + "<li><p>x" * 600
    assert (await renderer.render(page)).outcome == "rendered"


async def test_comparisons_in_a_script_do_not_count_as_nested(renderer: Renderer) -> None:
    page = "<p>x</p><script>" + "if (a<b) c();" * 1_001 + "</script>"
    assert (await renderer.render(page)).outcome == "rendered"


@pytest.mark.parametrize("hiding", ["<script>{}", "<style>{}</style>", "<svg><style>{}</style>"])
async def test_elements_cannot_be_hidden_in_scripts_and_styles(
    renderer: Renderer, hiding: str
) -> None:
    assert (
        " elements; at most 30,000" in (await renderer.render(hiding.format("<br>" * 30_001))).note
    )


async def test_a_page_with_invalid_unicode_is_rendered(renderer: Renderer) -> None:
    assert (await renderer.render("<html>\x00\ud800</html>")).outcome == "rendered"


@pytest.mark.slow
async def test_a_machine_too_slow_for_an_empty_page_raises_an_error(
    browser: Path, tmp_path: Path
) -> None:
    limits = Limits(wall_seconds=0.01)
    async with Renderer(str(browser), cache=tmp_path, limits=limits) as renderer:
        with pytest.raises(RenderError, match="even an empty page was not rendered in 0.01 s"):
            await renderer.render(GREEN_SQUARE)
    assert files(tmp_path, "*") == []


@pytest.mark.slow
async def test_the_failure_of_a_heavy_page_is_remembered_but_not_stored(
    browser: Path, tmp_path: Path
) -> None:
    heavy = "<div style='filter:blur(2000px);backdrop-filter:blur(500px);height:8000px'>" * 80
    async with Renderer(str(browser), cache=tmp_path, limits=Limits(wall_seconds=5)) as renderer:
        render = await renderer.render(heavy)
        assert await renderer.render(heavy) is render
        assert render.outcome in {"timeout", "crash"}
        assert render.picture == b""
        assert files(tmp_path, "*") == []
        assert (await renderer.render(GREEN_SQUARE)).outcome == "rendered"


@pytest.mark.slow
async def test_a_page_that_takes_too_much_memory_crashes_and_others_are_rendered(
    browser: Path, tmp_path: Path
) -> None:
    groups = "".join(f"<g id=a{n}>{f'<use href=#a{n - 1} />' * 10}</g>" for n in range(1, 8))
    bomb = f"<svg><g id=a0><rect width=9 height=9 /></g>{groups}<use href=#a7 /></svg>"
    limits = Limits(memory_bytes=300_000_000)
    async with Renderer(str(browser), cache=tmp_path, limits=limits) as renderer:
        hostile, innocent = await asyncio.gather(
            renderer.render(bomb), renderer.render(GREEN_SQUARE)
        )
        assert (hostile.outcome, innocent.outcome) == ("crash", "rendered")
        assert await renderer.render(bomb) is hostile
        assert (await renderer.render("<p>x")).outcome == "rendered"
    assert len(files(tmp_path, "*.json")) == 2  # the crash is not stored


@pytest.mark.parametrize("limits", [Limits(), Limits(memory_bytes=300_000_000)])
@pytest.mark.parametrize("workers", [1, 2, 10, 16, 64])
def test_the_memory_limit_for_replacing_a_browser_is_below_that_for_killing_it(
    limits: Limits, workers: int
) -> None:
    assert limits.replaced_beyond(workers) < limits.killed_beyond(workers)


def test_the_memory_limits_of_a_browser_grow_with_the_number_of_workers() -> None:
    assert Limits().killed_beyond(1) == 1_200_000_000
    assert Limits().killed_beyond(16) == 2_700_000_000
    assert Limits().replaced_beyond(16) == 1_900_000_000


async def test_concurrent_requests_for_a_page_share_one_render(
    browser: Path, tmp_path: Path
) -> None:
    written = set()
    async with Renderer(str(browser), cache=tmp_path, workers=4, limits=PATIENT) as renderer:
        asking = asyncio.gather(*(renderer.render(GREEN_SQUARE) for _ in range(3)))
        while not asking.done():
            written |= {path.stat().st_ino for path in files(tmp_path, "[!.]*.png")}
            await asyncio.sleep(0.001)
        written |= {path.stat().st_ino for path in files(tmp_path, "[!.]*.png")}
    first, *others = await asking
    assert others == [first, first]
    assert len(written) == 1


async def test_a_stored_render_is_not_rendered_again(browser: Path, tmp_path: Path) -> None:
    async with Renderer(str(browser), cache=tmp_path) as renderer:
        render = await renderer.render(GREEN_SQUARE)
        too_big = await renderer.render("<div>" * 1_001)
    store = RenderStore(tmp_path)
    assert (store.get(render.key), store.get(too_big.key)) == (render, too_big)
    altered = replace(render, note="this one is from the store")
    store.put(altered)
    async with Renderer(str(browser), cache=tmp_path) as renderer:
        assert await renderer.render(GREEN_SQUARE) == altered


async def test_a_renderer_that_is_not_open_or_is_closed_raises_an_error(
    browser: Path, tmp_path: Path
) -> None:
    renderer = Renderer(str(browser), cache=tmp_path)
    with pytest.raises(RenderError, match="must be used inside `async with`"):
        await renderer.render(GREEN_SQUARE)
    async with renderer:
        pass
    with pytest.raises(RenderError, match="is closed"):
        await renderer.render(GREEN_SQUARE)
