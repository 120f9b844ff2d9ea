"""Responses to addresses: pictures of the requested size, stylesheets, scripts, and refusals."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from io import BytesIO

import pytest
from PIL import Image

from colbench.sandbox.browser.assets import respond


def _picture(url: str) -> Image.Image:
    asset = respond(url)
    assert asset is not None
    assert asset.content_type == "image/png"
    with Image.open(BytesIO(asset.body)) as image:
        return image.convert("RGB")


def _pixels(url: str) -> str:
    return hashlib.sha256(_picture(url).tobytes()).hexdigest()


@pytest.mark.parametrize(
    ("url", "size"),
    [
        ("https://picsum.photos/300/200", (300, 200)),
        ("https://picsum.photos/250", (250, 250)),
        ("//picsum.photos/300/200", (300, 200)),
        ("http://picsum.photos/300/200?random=3", (300, 200)),
        ("https://picsum.photos/300/200.jpg", (300, 200)),
        ("https://picsum.photos/id/48/300/200", (300, 200)),
        ("https://picsum.photos/id/48/300/200-estate", (300, 200)),
        ("https://picsum.photos/id/48/300/200?grayscale&blur=2", (300, 200)),
        ("https://picsum.photos/id/237/1600/900.webp", (1600, 900)),
        ("https://picsum.photos/seed/400/300/120", (300, 120)),
        ("https://picsum.photos/g/320/240", (320, 240)),
        ("https://picsum.photos/", (600, 400)),
        ("https://picsum.photos/0/200", (1, 200)),
        ("https://picsum.photos/4000/1000", (2000, 500)),
        ("https://picsum.photos/99999/1", (2000, 1)),
        ("https://picsum.photos/123456/200", (200, 200)),
        ("https://picsum.photos/%33%30/20", (30, 20)),
        ("https://source.unsplash.com/random/800x600/?nature,water", (800, 600)),
        ("https://source.unsplash.com/1600x900/?food", (1600, 900)),
        ("https://source.unsplash.com/random", (1080, 720)),
        ("https://source.unsplash.com/collection/190727/320x240", (320, 240)),
        ("https://images.unsplash.com/photo-1503023345310-bd7c1de61c7d?w=600&h=450&fit=crop", (600, 450)),
        ("https://images.unsplash.com/photo-1?auto=format&w=600", (600, 400)),
        ("https://images.unsplash.com/photo-1?h=200", (300, 200)),
        ("https://images.unsplash.com/photo-1?w=abc&h=-3", (1080, 720)),
        ("https://images.pexels.com/photos/12345/pexels-photo-12345.jpeg?w=500&h=100", (500, 100)),
        ("https://placekitten.com/200/300", (200, 300)),
        ("https://placekitten.com/g/200/300", (200, 300)),
        ("https://loremflickr.com/320/240/dog", (320, 240)),
        ("https://placeimg.com/640/480/any", (640, 480)),
        ("https://i.pravatar.cc/80?img=3", (80, 80)),
        ("https://randomuser.me/api/portraits/men/32.jpg", (128, 128)),
        ("https://via.placeholder.com/300x200", (300, 200)),
        ("https://via.placeholder.com/150", (150, 150)),
        ("https://via.placeholder.com/150/0000FF/808080?text=Logo", (150, 150)),
        ("https://via.placeholder.com/350x150.png/000/fff", (350, 150)),
        ("https://placehold.co/600x400/orange/white?text=Hello\\nWorld", (600, 400)),
        ("https://placehold.co/600x400@2x.png", (600, 400)),
        ("https://placehold.it/350x65", (350, 65)),
        ("https://dummyimage.com/600/000/fff", (600, 600)),
        ("https://dummyimage.com/600x400/000/fff.png&text=a", (600, 400)),
        ("https://fakeimg.pl/440x230/282828/eae0d0/?text=", (440, 230)),
        ("https://placeholder.pics/svg/300x100/DEDEDE/555555/text", (300, 100)),
        ("https://via.placeholder.com/1x1", (1, 1)),
        ("https://via.placeholder.com/3x2000?text=long text in little room", (3, 2000)),
    ],
)  # fmt: skip
def test_pictures_have_the_size_that_the_address_requests(url: str, size: tuple[int, int]) -> None:
    assert _picture(url).size == size


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/a.png",
        "https://picsum.photos.example.org/300/200",
        "https://example.org/picsum.photos/300/200",
        "https://picsum.photos@example.org/300/200",
        "file:///etc/passwd",
        "data:image/png;base64,AA",
        "https://cdn.jsdelivr.net/npm/bootstrap@5.3.0/dist/css/bootstrap.min.css",
        "https://cdn.jsdelivr.net/npm/tailwindcss@3.4.1/dist/tailwind.min.css",
        "https://unpkg.com/tailwindcss/dist/tailwind.min.css",
        "https://unpkg.com/@tailwindcss/browser@4/../../evil.js",
        "https://fonts.gstatic.com/s/inter/v12/x.woff2",
        "https://[::1/300/200",
        "https:///300/200",
        "",
        "https://picsum.photos/" + "9" * 5000,
        "//",
        "\ud800",
    ],
)
def test_all_other_addresses_are_refused(url: str) -> None:
    assert respond(url) is None


def test_the_same_address_gives_the_same_pixels_in_another_process() -> None:
    url = "https://picsum.photos/id/48/320/200"
    code = (
        "import hashlib, io; from PIL import Image; from colbench.sandbox.browser.assets import respond;"
        f"print(hashlib.sha256(Image.open(io.BytesIO(respond({url!r}).body)).convert('RGB').tobytes()).hexdigest())"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == _pixels(url)


def test_pixels_do_not_depend_on_the_version_of_pillow() -> None:
    """Compare with the hash that Pillow 10.4, 11.0 and 13.0 give."""
    pixels = _pixels("https://picsum.photos/id/48/300/200") + _pixels(
        "https://placehold.co/300x200"
    )
    assert hashlib.sha256(pixels.encode()).hexdigest()[:16] == "4f76850f8077fa5c"


def test_malformed_addresses_of_known_hosts_get_a_response() -> None:
    ends = [
        "",
        "\ud800",
        "%00",
        "%0A" * 50,
        "%ff",
        "\n",
        "&w=1e9",
        "&h=٣",
        "👩‍💻" * 50,
        "%D8%A7" * 20,
        "#x",
        "[",
        "\\n" * 99,
    ]
    for host in ("picsum.photos", "images.unsplash.com", "placehold.co"):
        for path in ("/", "/0x0", "/1", "/99999x99999", "/id/", "/3/", "/300x20/-/#", "/٣/٣"):
            assert all(respond(f"https://{host}{path}?text={end}") for end in ends)


def test_photos_differ_by_the_subject_that_the_address_names() -> None:
    first = "https://picsum.photos/id/1/300/200"
    assert _pixels(first) == _pixels(first + "-estate")
    assert _pixels(first) != _pixels("https://picsum.photos/id/2/300/200")
    assert _pixels("https://picsum.photos/300/200?random=1") != _pixels(
        "https://picsum.photos/300/200?random=2"
    )
    assert _pixels("https://source.unsplash.com/300x200/?a") != _pixels(
        "https://source.unsplash.com/300x200/?b"
    )


def test_a_photo_in_another_size_is_the_same_photo() -> None:
    small = _picture("https://picsum.photos/id/7/300/200")
    large = _picture("https://picsum.photos/id/7/600/400")
    for place in [(0, 0), (0, 199), (299, 199), (150, 190)]:
        same = small.getpixel(place), large.getpixel((place[0] * 2, place[1] * 2))
        assert all(abs(a - b) <= 3 for a, b in zip(*same, strict=True))


def test_a_grayscale_photo_has_no_color() -> None:
    colors = _picture("https://picsum.photos/id/7/30/20?grayscale").getcolors(600) or []
    assert colors
    assert all(red == green == blue for _, (red, green, blue) in colors)


@pytest.mark.parametrize(
    ("path", "background", "color"),
    [
        ("via.placeholder.com/300x200", (204, 204, 204), (150, 150, 150)),
        ("via.placeholder.com/300/0000ff/fff", (0, 0, 255), (255, 255, 255)),
        ("placehold.co/300x200/orange/navy", (255, 165, 0), (0, 0, 128)),
        ("placehold.co/300x200/png", (221, 221, 221), (153, 153, 153)),
        ("dummyimage.com/300x200/123/abc.png", (0x11, 0x22, 0x33), (0xAA, 0xBB, 0xCC)),
    ],
)  # fmt: skip
def test_placeholders_have_the_colors_that_the_address_names(
    path: str, background: tuple[int, int, int], color: tuple[int, int, int]
) -> None:
    image = _picture(f"https://{path}")
    shades = {shade for _, shade in image.getcolors(10_000) or []}
    assert image.getpixel((0, 0)) == background
    assert color in shades


def test_placeholders_show_the_text_that_the_address_names() -> None:
    plain = _picture("https://placehold.co/300x200?text=")
    assert len(plain.getcolors() or []) == 1
    assert _pixels("https://dummyimage.com/300x200&text=") == _pixels(
        "https://dummyimage.com/300x200?text="
    )
    assert _pixels("https://placehold.co/300x200?text=a") != _pixels(
        "https://placehold.co/300x200?text=b"
    )
    assert _pixels("https://placehold.co/300x200?text=300+×+200") == _pixels(
        "https://placehold.co/300x200"
    )


@pytest.mark.parametrize(
    ("url", "kind", "start"),
    [
        ("https://unpkg.com/tailwindcss@2/dist/tailwind.css", "text/css", b"/*! tailwindcss v2.2.19"),
        ("https://cdn.tailwindcss.com", "text/javascript", b"(()=>{var wb="),
        ("https://cdn.tailwindcss.com/?plugins=typography", "text/javascript", b"(()=>{"),
        ("https://unpkg.com/@tailwindcss/browser@4", "text/javascript", b'"use strict";(()=>{'),
    ],
)  # fmt: skip
def test_tailwind_addresses_return_the_vendored_files(url: str, kind: str, start: bytes) -> None:
    asset = respond(url)
    assert asset is not None
    assert asset.content_type == f"{kind}; charset=utf-8"
    assert asset.body.startswith(start)


def test_font_stylesheets_are_empty() -> None:
    asset = respond("https://fonts.googleapis.com/css2?family=Inter:wght@400;700&display=swap")
    assert asset is not None
    assert (asset.body, asset.content_type) == (b"", "text/css; charset=utf-8")
