"""Small pictures for the gallery: thumbnails of pages, and differences of two pages."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

WIDTH = 640
"""Width of every picture in pixels; the height keeps the page's proportions."""
ENCODING: dict[str, Any] = {"quality": 70, "method": 2}
"""WebP options; see Pillow's manual."""
FADING = 0.6
"""Share of white that is mixed into the gray target, so that the colors of the difference stand out."""
CONTRAST = 3
"""Factor by which a difference is amplified for display."""
NEAR = 4
"""Radius, in pixels, of the surroundings with which `_detail` compares a pixel."""
DETAIL = 8
"""Gray levels by which a page must exceed the other page in detail (`_detail`) for `TARGET` or `FINAL` to be used."""
TARGET, FINAL, BOTH = (0, 128, 145), (214, 52, 40), (207, 190, 235)
"""Colors of content only on the target, of content only on the final page, and of areas that differ in color."""


def thumbnail(picture: bytes) -> bytes:
    """Return a page's picture (PNG) as a WebP, 640 pixels wide."""
    return _webp(_small(picture))


def difference(target: bytes, final: bytes) -> bytes:
    """Return an overlay of two pages' pictures (PNG): a WebP with the height of the taller page.

    Pixels are pale gray where both pages agree. Elsewhere the color is `TARGET` if the target has more detail, `FINAL`
    if the final page has more, and `BOTH` if neither has more, as in an area of another color. The shorter page is
    extended with white.
    """
    from PIL import Image, ImageChops

    pair = [_small(each) for each in (target, final)]
    size = (WIDTH, max(each.height for each in pair))
    wanted, made = (_extended(each, size) for each in pair)
    overlay = Image.blend(
        wanted.convert("L").convert("RGB"), Image.new("RGB", size, "white"), FADING
    )
    changed = _strongest(ImageChops.difference(wanted, made)).point(lambda level: CONTRAST * level)
    overlay.paste(BOTH, mask=changed)
    ours, theirs = _detail(wanted), _detail(made)
    for color, more, less in ((TARGET, ours, theirs), (FINAL, theirs, ours)):
        lead = ImageChops.subtract(more, less).point(lambda level: 255 * (level >= DETAIL))
        overlay.paste(color, mask=ImageChops.darker(changed, lead))
    return _webp(overlay)


def size_of(picture: bytes) -> tuple[int, int]:
    """Return a picture's width and height in pixels."""
    from PIL import Image

    with Image.open(BytesIO(picture)) as image:
        return image.size


def _small(picture: bytes) -> Image:
    from PIL import Image

    with Image.open(BytesIO(picture)) as image:
        height = max(1, round(image.height * WIDTH / image.width))
        return image.convert("RGB").resize((WIDTH, height), Image.Resampling.BOX)


def _extended(image: Image, size: tuple[int, int]) -> Image:
    from PIL import Image

    sheet = Image.new("RGB", size, "white")
    sheet.paste(image)
    return sheet


def _detail(image: Image) -> Image:
    """Return how far each pixel stands out from its surroundings, in gray levels."""
    from PIL import ImageChops, ImageFilter

    return _strongest(ImageChops.difference(image, image.filter(ImageFilter.BoxBlur(NEAR))))


def _strongest(image: Image) -> Image:
    """Return the highest of the red, green and blue values at each pixel."""
    from PIL import ImageChops

    red, green, blue = image.split()
    return ImageChops.lighter(ImageChops.lighter(red, green), blue)


def _webp(image: Image) -> bytes:
    out = BytesIO()
    image.save(out, "WEBP", **ENCODING)
    return out.getvalue()
