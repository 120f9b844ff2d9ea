"""Pictures in requests: reduced to a size that model servers accept, and encoded as they expect."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_EDGE = 2048
"""Default maximum width and height in pixels. OpenAI's servers shrink larger pictures. On a vLLM server, such
pictures fill the context: Qwen2-VL makes a token of every 28 x 28 pixels."""
MAX_BYTES = 3_500_000
"""Maximum number of bytes of one picture; the strictest known servers accept 5 MB in base64, which adds a third."""
LEAST_SCALE = 0.5
"""Minimum scale when a picture is shrunk to `max_edge`; below half size, most text is hardly legible."""
STEP = 0.8


def fit_pictures(pictures: Sequence[bytes], max_edge: int) -> tuple[bytes, ...]:
    """Return PNG pictures, shrunk so that no edge exceeds `max_edge` pixels and no file exceeds MAX_BYTES.

    If all pictures fit, they are returned unchanged. Otherwise all are shrunk by the same scale, so that they can be
    compared. LEAST_SCALE limits how far they are shrunk to fit `max_edge`; pictures that are then still too tall or
    too wide are cut off at the bottom or the right.
    """
    from PIL import Image

    opened = [Image.open(io.BytesIO(picture)) for picture in pictures]
    longest = max((edge for image in opened for edge in image.size), default=0)
    heaviest = max(map(len, pictures), default=0)
    if longest <= max_edge and heaviest <= MAX_BYTES:
        return tuple(pictures)
    scale = min(1.0, max(max_edge / longest, LEAST_SCALE))
    fitted = [_shrunk(image, scale, max_edge) for image in opened]
    while max(map(len, fitted)) > MAX_BYTES:
        scale *= STEP
        fitted = [_shrunk(image, scale, max_edge) for image in opened]
    return tuple(fitted)


def data_url(picture: bytes) -> str:
    """Return a PNG as a data URL."""
    return "data:image/png;base64," + base64.b64encode(picture).decode("ascii")


def from_data_url(url: str) -> bytes:
    """Return the picture in a data URL."""
    return base64.b64decode(url.partition(",")[2])


def _shrunk(image: Image, scale: float, max_edge: int) -> bytes:
    width, height = (min(max_edge, max(1, round(edge * scale))) for edge in image.size)
    seen = (0, 0, min(image.width, width / scale), min(image.height, height / scale))
    buffer = io.BytesIO()
    image.convert("RGB").resize((width, height), box=seen).save(buffer, "PNG")
    return buffer.getvalue()
