"""Drawn pictures: landscapes that replace photos, and labeled boxes.

The same arguments give the same pixels: only integers and a hash are used, and neither a clock nor random numbers.
The pictures use a palette because they are then drawn and compressed several times faster than in true color.
"""

from __future__ import annotations

import colorsys
from functools import lru_cache
from hashlib import blake2b
from io import BytesIO
from typing import TYPE_CHECKING

from colbench.sandbox.browser.assets.vendored import FONTS

if TYPE_CHECKING:
    from PIL import Image, ImageFont

_SKY_SHADES = 64
_SUN, _FAR, _NEAR = range(_SKY_SHADES, _SKY_SHADES + 3)
_KEPT = 512

Color = tuple[int, int, int]


@lru_cache(maxsize=_KEPT)
def photo(subject: str, width: int, height: int, gray: bool) -> bytes:
    """Draw a landscape as a PNG of this size, with colors and shapes specific to this subject."""
    from PIL import Image, ImageDraw

    chance = blake2b(subject.encode("utf-8", "replace"), digest_size=16).digest()
    sky = b"".join(bytes([row * _SKY_SHADES // height]) * width for row in range(height))
    image = Image.frombytes("P", (width, height), sky)
    image.putpalette([part for color in _landscape_colors(chance, gray) for part in color])
    draw = ImageDraw.Draw(image)
    size, x, y = min(width, height) * (10 + chance[0] % 12) // 100, chance[1], chance[2]
    middle = (width * (15 + x % 70) // 100, height * (15 + y % 30) // 100)
    draw.ellipse([middle[0] - size, middle[1] - size, middle[0] + size, middle[1] + size], _SUN)
    for color, base, bumps in ((_FAR, 60, chance[3:8]), (_NEAR, 80, chance[8:13])):
        ridge = [
            (width * index // (len(bumps) - 1), height * (base - 20 + bump % 35) // 100)
            for index, bump in enumerate(bumps)
        ]
        draw.polygon([(0, height), *ridge, (width, height)], color)
    return _png(image)


def _landscape_colors(chance: bytes, gray: bool) -> list[Color]:
    hue, other = chance[13] / 256, chance[14] / 256
    top, bottom = _color(hue, 0.45, 0.55), _color(other, 0.80, 0.55)
    sky = [_mixed(top, bottom, shade / (_SKY_SHADES - 1)) for shade in range(_SKY_SHADES)]
    colors = [*sky, _color(other, 0.90, 0.70), _color(hue, 0.35, 0.40), _color(other, 0.22, 0.35)]
    if not gray:
        return colors
    return [((red * 299 + green * 587 + blue * 114) // 1000,) * 3 for red, green, blue in colors]


def _color(hue: float, lightness: float, saturation: float) -> Color:
    red, green, blue = colorsys.hls_to_rgb(hue, lightness, saturation)
    return round(red * 255), round(green * 255), round(blue * 255)


def _mixed(first: Color, second: Color, share: float) -> Color:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(first, second, strict=True))
    return red, green, blue


@lru_cache(maxsize=_KEPT)
def box(text: str, width: int, height: int, background: str, color: str) -> bytes:
    """Draw a box with centered text as a PNG. The text is as large as fits, up to an eighth of the width.

    `background` and `color` (of the text) have the form `#rrggbb`.
    """
    from PIL import Image, ImageColor, ImageDraw

    back, front = ImageColor.getrgb(background)[:3], ImageColor.getrgb(color)[:3]
    image = Image.new("P", (width, height))
    shades = [_mixed(back, front, shade / 255) for shade in range(256)]
    image.putpalette([part for shade in shades for part in shade])
    mask = Image.new("L", (width, height))
    ImageDraw.Draw(mask).text(
        (width / 2, height / 2), text, 255, _font(text, width, height), anchor="mm", align="center"
    )
    image.frombytes(mask.tobytes())
    return _png(image)


def _font(text: str, width: int, height: int) -> ImageFont.FreeTypeFont:
    from PIL import ImageFont

    lines = text.split("\n")
    longest = max(len(line) for line in lines)
    size = min(width // 8, height // (2 * len(lines)), width * 3 // 2 // max(longest, 1))
    return ImageFont.truetype(
        FONTS / "LiberationSans-Bold.ttf", max(size, 6), layout_engine=ImageFont.Layout.BASIC
    )


def _png(image: Image.Image) -> bytes:
    file = BytesIO()
    image.save(file, "PNG", compress_level=1)
    return file.getvalue()
