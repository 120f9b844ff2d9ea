"""The visible blocks of a page: what a person would see, and nothing that the page hides."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from patience import PATIENT

from colbench.pages.render import Block, Render
from colbench.sandbox.browser import Renderer

SECRET = "Stuffed words that nobody sees"
HIDDEN = {
    "not displayed": '<p style="display:none">{}</p>',
    "not visible": '<p style="visibility:hidden">{}</p>',
    "transparent": '<p style="opacity:0">{}</p>',
    "nearly transparent": '<div style="opacity:.2"><p style="opacity:.2">{}</p></div>',
    "transparent letters": '<p style="color:transparent">{}</p>',
    "transparent fill": '<p style="-webkit-text-fill-color:transparent">{}</p>',
    "white on white": '<p style="color:#fff">{}</p>',
    "nearly white on white": '<p style="color:#fafafa">{}</p>',
    "blue on a blue block": '<div style="background:#00f"><p style="color:#00f">{}</p></div>',
    "white on a white picture": (
        '<div style="background:#fff url(data:image/svg+xml,%3Csvg/%3E)"><p style="color:#fff">{}</p></div>'
    ),
    "of no size": '<div style="width:0;height:0;overflow:hidden">{}</div>',
    "for screen readers": '<div style="position:absolute;width:1px;height:1px;overflow:hidden">{}</div>',
    "cut off by an ancestor": '<div style="height:10px;overflow:hidden"><p style="margin-top:30px">{}</p></div>',
    "clip path": '<p style="clip-path:inset(50%)">{}</p>',
    "left of the page": '<p style="position:absolute;left:-9999px">{}</p>',
    "above the page": '<p style="position:absolute;top:-500px">{}</p>',
    "right of the page": '<p style="position:fixed;left:2000px">{}</p>',
    "indented away": '<p style="text-indent:-9999px">{}</p>',
    "moved away": '<p style="transform:translateX(-5000px)">{}</p>',
    "scaled down": '<p style="transform:scale(.02)">{}</p>',
    "tiny": '<p style="font-size:1px">{}</p>',
    "covered by a later block": (
        '<p style="position:absolute;top:20px">{}</p>'
        '<div style="position:absolute;top:0;left:0;width:900px;height:99px;background:#fff"></div>'
    ),
    "covered by tiles": (
        '<p style="position:absolute;top:0">{}</p>'
        + "".join(
            f'<i style="position:absolute;top:0;left:{40 * n}px;width:40px;height:60px;background:#fff"></i>'
            for n in range(20)
        )
    ),
    "covered by a drawing": (
        '<p style="position:absolute;top:0">{}</p><svg style="position:absolute;top:0;left:0" width="900"'
        ' height="90"><path d="M0 0h900v90H0z" fill="#fff"/></svg>'
    ),
    "below everything": '<p style="position:absolute;z-index:-1">{}</p><div style="background:#fff;height:90px"></div>',
    "covered by what takes no clicks": (
        '<p style="position:absolute;top:0">{}</p><div style="position:absolute;top:0;left:0;width:900px;'
        'height:90px;background:#fff;pointer-events:none"></div>'
    ),
    "covered by a shadow": (
        '<p style="position:absolute;top:0">{}</p>'
        '<div style="position:absolute;top:-99px;left:0;width:900px;height:9px;box-shadow:0 99px 0 99px #fff"></div>'
    ),
    "filtered away": '<p style="filter:opacity(0)">{}</p>',
    "filtered white": '<p style="filter:brightness(0) invert(1)">{}</p>',
    "masked": '<p style="mask:linear-gradient(transparent,transparent)">{}</p>',
    "blended away": '<div style="background:#fff"><p style="mix-blend-mode:lighten">{}</p></div>',
    "white within black": '<p>Welcome <span style="color:#fff">{}</span></p>',
    "tiny within large": '<h1>Welcome <small style="font-size:2px">{}</small></h1>',
    "scrolled out of sight": '<div style="height:20px;overflow:auto">Top<div style="height:90px"></div>{}</div>',
    "in a closed detail": "<details><summary>More</summary>{}</details>",
    "an option that is not chosen": "<select><option>One<option>{}</select>",
    "a hidden field": '<input type="hidden" value="{}">',
    "a checkbox": '<input type="checkbox" value="{}">',
    "a password": '<input type="password" value="{}">',
    "a placeholder without room": '<input placeholder="{}" style="width:20px">',
    "a transparent link": '<a style="opacity:0;background:#00f;padding:9px">{}</a>',
    "a button without size": '<button style="width:0;height:0;padding:0;border:0;overflow:hidden">{}</button>',
    "a title": '<p title="{0}" data-text="{0}">Text</p>',
    "a comment": "<!-- {} -->",
    "a script's text": "<noscript hidden>{}</noscript><template>{}</template>",
    "a clobbered form": '<form style="display:none"><input name="style"><input name="parentNode"><p>{}</p></form>',
}  # fmt: skip
SEEN = {
    "a paragraph": "<p>{}</p>",
    "a grey paragraph": '<p style="color:#777">{}</p>',
    "small print": '<p style="font-size:9px;color:#666">{}</p>',
    "on a picture": (
        '<div style="position:relative"><img src="https://picsum.photos/id/48/900/90">'
        '<h1 style="position:absolute;top:9px;color:#fff;text-shadow:0 0 3px #000">{}</h1></div>'
    ),
    "on a half transparent layer": (
        '<div style="position:relative;height:90px"><div style="position:absolute;inset:0;background:#0008"></div>'
        '<h1 style="position:relative;color:#fff">{}</h1></div>'
    ),
    "gradient letters": (
        '<h1 style="background:linear-gradient(90deg,#00f,#f00);background-clip:text;color:transparent">{}</h1>'
    ),
    "moved": '<p style="transform:translate(50px,50px) rotate(1deg)">{}</p>',
    "out of its parent": '<div style="overflow:hidden;height:5px"><p style="position:absolute;top:50px">{}</p></div>',
    "fixed": '<p style="position:fixed;bottom:0">{}</p>',
    "in lower case": '<p style="text-transform:none;letter-spacing:1px">{}</p>',
    "before": '<style>p::before{{content:"{}"}}</style><p></p>',
    "a field": '<input placeholder="{}" style="width:400px">',
    "a password field": '<input type="password" placeholder="{}" style="width:400px">',
    "a text field": '<textarea cols="60">{}</textarea>',
    "in a frame of flex": '<div style="display:flex;justify-content:center"><span>{}</span></div>',
}  # fmt: skip


async def _render(renderer: Renderer, body: str, head: str = "") -> Render:
    render = await renderer.render(
        f"<!doctype html><html><head>{head}</head><body style='margin:0'>{body}</body></html>"
    )
    assert render.outcome == "rendered"
    return render


async def _blocks(renderer: Renderer, body: str) -> tuple[Block, ...]:
    return (await _render(renderer, body)).blocks


def _contain(blocks: tuple[Block, ...], words: str) -> bool:
    return any(words in block.text for block in blocks)


async def _ways_with_the_text(renderer: Renderer, ways: dict[str, str]) -> set[str]:
    pages = [_blocks(renderer, way.format(SECRET, SECRET)) for way in ways.values()]
    found = await asyncio.gather(*pages)
    stuffed = SECRET.rsplit(maxsplit=1)[-1]
    return {way for way, blocks in zip(ways, found, strict=True) if _contain(blocks, stuffed)}


@pytest.mark.slow
async def test_hidden_text_is_not_in_the_blocks(renderer: Renderer) -> None:
    assert await _ways_with_the_text(renderer, HIDDEN) == set()


async def test_visible_text_is_in_the_blocks(renderer: Renderer) -> None:
    assert await _ways_with_the_text(renderer, SEEN) == set(SEEN)


async def test_only_the_topmost_of_overlapping_texts_is_a_block(renderer: Renderer) -> None:
    layers = "".join(f'<p style="position:absolute;top:0">Layer {n}</p>' for n in range(9))
    assert [block.text for block in await _blocks(renderer, layers)] == ["Layer 8"]


async def test_hidden_pictures_and_areas_are_not_blocks(renderer: Renderer) -> None:
    size = "position:absolute;left:0;top:0;width:300px;height:200px"
    for body in (
        f'<div style="{size};background:#fff"></div>',
        f'<div style="{size};background:#00f;opacity:0"></div>',
        f'<div style="{size};background:#00f"></div><div style="{size};background:#fff"></div>',
        '<div style="width:5px;height:5px;background:#00f"></div>',
        f'<img src="https://picsum.photos/300/200" alt="Lake" style="{size};visibility:hidden">',
        '<img src="https://picsum.photos/300/200" alt="Lake" style="width:1px;height:1px">',
        f'<img src="data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==" style="{size}">',
        f'<svg style="{size}"></svg>',
        f'<input style="{size};opacity:0">',
    ):
        assert await _blocks(renderer, body) == (), body


PAGE = """
<header style="background:#1e40af;color:white;padding:10px">
  <h1 style="margin:0;font-size:32px">Blue <em>Lake</em></h1>
  <nav><a href="#" style="color:#bfdbfe">Home</a> | <a href="#">About</a>
  <a href="#" style="background:#f00;padding:10px 20px;color:#fff;display:inline-block">Book</a></nav>
</header>
<p style="text-align:center;margin:20px">We like <a href="#">water</a> and <b>hills</b>.</p>
<img src="https://picsum.photos/300/200" alt="A lake" style="display:block">
<div style="border:1px solid #333;width:200px;height:100px"></div>
<form><input placeholder="Your name" value=""><input type="submit" value="Send"><button>Clear</button></form>
<div style="background:url(https://picsum.photos/400/100);width:400px;height:100px"></div>
<a href="#"><h3>Card</h3><p>Its text.</p></a>
"""


async def test_blocks_have_their_kinds_and_are_in_reading_order(renderer: Renderer) -> None:
    blocks = await _blocks(renderer, PAGE)
    assert [(block.kind, block.text) for block in blocks] == [
        ("box", ""),
        ("heading", "Blue Lake"),
        ("button", "Book"),
        ("link", "Home"),
        ("link", "About"),
        ("text", "We like water and hills."),
        ("picture", "A lake"),
        ("box", ""),
        ("input", "Your name"),
        ("button", "Send"),
        ("button", "Clear"),
        ("picture", ""),
        ("heading", "Card"),
        ("link", "Its text."),
    ]


async def test_generated_text_is_read_where_it_is_displayed(renderer: Renderer) -> None:
    style = '<style>p::before{content:"«"}p::after{content:"»"}b::after{content:" *"}</style>'
    (text,) = await _blocks(renderer, f"{style}<p>Name <i>and</i> <b>address <i>here</i></b></p>")
    assert text.text == "«Name and address here *»"


async def test_a_small_drawing_is_a_picture(renderer: Renderer) -> None:
    (icon,) = await _blocks(
        renderer,
        '<svg width="12" height="12" style="display:block"><path d="M0 0h12v12H0z"/></svg>',
    )
    assert (icon.kind, icon.width, icon.height) == ("picture", 12, 12)


async def test_blocks_have_their_position_size_font_and_colors(renderer: Renderer) -> None:
    blocks = {block.text or block.kind: block for block in await _blocks(renderer, PAGE)}
    heading, link, button = blocks["Blue Lake"], blocks["Home"], blocks["Book"]
    assert (heading.x, heading.y, heading.font_size, heading.bold) == (10, 10, 32.0, True)
    assert (heading.color, heading.background) == ("#ffffff", "#1e40af")
    assert (link.color, link.background, link.bold) == ("#bfdbfe", "#1e40af", False)
    assert (button.background, button.color) == ("#ff0000", "#ffffff")
    assert button.width >= 40 + 30
    assert button.height >= 20 + 16
    prose, picture = blocks["We like water and hills."], blocks["A lake"]
    assert prose.align == "center"
    assert prose.x > 400
    assert (picture.width, picture.height) == (300, 200)


async def test_block_colors_are_converted_and_blended_as_displayed(renderer: Renderer) -> None:
    (box, text) = await _blocks(
        renderer,
        '<div style="background:rgb(0 0 255 / 50%);height:90px;color:oklch(0.627955 0.257683 29.2339)">Red</div>',
    )
    assert (box.kind, box.background) == ("box", "#8080ff")
    assert (text.color, text.background) == ("#ff0000", "#8080ff")


@pytest.mark.parametrize(
    ("style", "color"),
    [
        ("body{background:#fef3c7}", "#fef3c7"),
        ("html{background:#111}body{background:#eee}", "#111111"),
        ("html{background:rgb(0 0 0/.5)}", "#808080"),
        ("p{background:#f00}", "#ffffff"),
    ],
)
async def test_the_page_background_comes_from_the_html_or_body_element(
    renderer: Renderer, style: str, color: str
) -> None:
    render = await renderer.render(f"<html><style>{style}</style><body><p>Text</p></body></html>")
    assert render.background == color


async def test_only_the_visible_part_of_a_text_is_in_its_block(renderer: Renderer) -> None:
    lines = "".join(f"<br>line {number}" for number in range(1, 9))
    (text,) = await _blocks(
        renderer, f'<div style="height:60px;overflow:hidden;line-height:20px">line 0{lines}</div>'
    )
    assert text.text == "line 0 line 1 line 2"


async def test_the_number_of_blocks_and_the_length_of_texts_are_bounded(renderer: Renderer) -> None:
    many = "".join(
        f"<p style='margin:0;line-height:9px;font-size:8px'>{n}</p>" for n in range(3000)
    )
    columns = f'<div style="columns:9">{many}</div>'
    blocks = await _blocks(renderer, columns)
    assert len(blocks) == 2000
    (long,) = await _blocks(renderer, f"<p>{'word ' * 1000}</p>")
    assert len(long.text) == 2000


async def test_scripts_of_a_page_cannot_change_its_blocks(renderer: Renderer) -> None:
    head = """<script src="https://cdn.tailwindcss.com"></script><script>
    Element.prototype.getBoundingClientRect = () => ({x: 0, y: 0, width: 900, height: 90});
    window.getComputedStyle = () => ({visibility: 'visible', opacity: '1', color: 'rgb(0, 0, 0)'});
    </script>"""
    render = await _render(
        renderer, f'<p class="hidden">{SECRET}</p><p class="text-red-500">Seen</p>', head
    )
    assert [(block.text, block.color) for block in render.blocks] == [("Seen", "#ef4444")]


async def test_fields_with_a_font_size_of_zero_are_blocks(renderer: Renderer) -> None:
    look = "font-size:0;width:200px;height:40px;background:#ccc"
    blocks = await _blocks(renderer, f'<input style="{look}"><textarea style="{look}">x</textarea>')
    assert [block.kind for block in blocks] == ["input", "input"]


@pytest.mark.slow
async def test_a_page_of_thousands_of_faint_layers_is_too_big(
    browser: Path, tmp_path: Path
) -> None:
    layer = '<i style="position:absolute;top:9px;width:20px;height:20px;background:#00000001"></i>'
    async with Renderer(str(browser), cache=tmp_path, limits=PATIENT) as renderer:
        render = await renderer.render(layer * 5_000)
    assert (render.outcome, render.note) == (
        "too big",
        "the page has too many areas on top of each other",
    )
