"""The final test of visibility: does the picture show the elements of the layout?

If anything hides text (filters, masks, clip paths, fonts without glyphs, drawings on top), the text's color is missing
at that place in the picture.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, cast

from colbench.sandbox.browser.sight.colors import Color
from colbench.sandbox.browser.sight.layout import Rect

if TYPE_CHECKING:
    from PIL import Image

TEXT_CONTRAST = 20
"""Contrast in levels of a channel (0 to 255) below which text counts as unreadable."""
AREA_CONTRAST = 6
_NEAR = 0.55
"""Maximum distance between a text's color and the most similar pixel.

It is a share of the contrast between the text and its background. The pixels of thin strokes blend these two colors, so
none of them may have exactly the text's color.
"""
_NEAR_ON_PICTURE = 60
_SAMPLE = 64
_RING = 3


class Ink:
    """The picture of a page, with lookups of colors."""

    def __init__(self, picture: bytes) -> None:
        from PIL import Image

        with Image.open(BytesIO(picture)) as image:
            self._image: Image.Image = image.convert("RGB")

    @property
    def size(self) -> tuple[int, int]:
        """The width and height in pixels."""
        return self._image.size

    def has_text(self, rect: Rect, color: Color, behind: Color, on_picture: bool) -> bool:
        """Return True if the area contains strokes of this color that stand out from their background.

        `behind` is the color of the background. If `on_picture` is True, the background is a picture, and a fixed
        tolerance applies to the color of the strokes.
        """
        crop = self._crop(rect)
        if crop is None or max(high - low for low, high in _extrema(crop)) < TEXT_CONTRAST:
            return False
        near = _NEAR_ON_PICTURE if on_picture else _NEAR * color.contrast(behind)
        return _nearest(crop, color) <= near

    def varies(self, rect: Rect, behind: Color, least: float = AREA_CONTRAST) -> bool:
        """Return True if a pixel of the area differs from the color `behind` by at least `least` in one channel."""
        crop = self._crop(rect)
        if crop is None:
            return False
        below = [round(channel) for channel in behind.rgb]
        return any(
            max(abs(low - b), abs(high - b)) >= least
            for (low, high), b in zip(_extrema(_small(crop)), below, strict=True)
        )

    def has_color(self, rect: Rect, color: Color) -> bool:
        """Return True if this color occurs in the area."""
        crop = self._crop(rect)
        return crop is not None and _nearest(_small(crop), color) <= AREA_CONTRAST

    def ends(self, rect: Rect, color: Color) -> bool:
        """Return True if a point just outside `rect` contrasts with `color`, or if `rect` fills the whole picture."""
        width, height = self.size
        around = [
            Color(*cast(tuple[int, int, int], self._image.getpixel((int(x), int(y)))))
            for x, y in _ring(rect)
            if 0 <= x < width and 0 <= y < height
        ]
        return not around or any(one.contrast(color) >= AREA_CONTRAST for one in around)

    def _crop(self, rect: Rect) -> Image.Image | None:
        width, height = self.size
        box = (
            max(0, math.floor(rect.left)),
            max(0, math.floor(rect.top)),
            min(width, math.ceil(rect.right)),
            min(height, math.ceil(rect.bottom)),
        )
        return self._image.crop(box) if box[0] < box[2] and box[1] < box[3] else None


def _ring(rect: Rect) -> Iterator[tuple[float, float]]:
    """Yield points right outside the edges of an area."""
    for x, y in rect.points(_RING):
        yield from (
            (rect.left - 2, y),
            (rect.right + 2, y),
            (x, rect.top - 2),
            (x, rect.bottom + 2),
        )


def _extrema(image: Image.Image) -> tuple[tuple[int, int], ...]:
    return tuple(channel.getextrema() for channel in image.split())  # type: ignore[misc]


def _small(image: Image.Image) -> Image.Image:
    if image.width * image.height <= 4 * _SAMPLE * _SAMPLE:
        return image
    return image.resize((min(image.width, _SAMPLE), min(image.height, _SAMPLE)), resample=0)


def _nearest(image: Image.Image, color: Color) -> float:
    """Return the difference between a color and the most similar pixel, in the channel that differs most."""
    from PIL import Image, ImageChops

    wanted = tuple(round(min(255.0, max(0.0, channel))) for channel in color.rgb)
    red, green, blue = ImageChops.difference(image, Image.new("RGB", image.size, wanted)).split()
    lowest, _ = ImageChops.lighter(ImageChops.lighter(red, green), blue).getextrema()
    return float(lowest)  # type: ignore[arg-type]
