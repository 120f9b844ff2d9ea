"""Pictures in requests: made small enough for model servers, and written as they take them."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_EDGE = 2048
"""Pixels. Larger pictures are shrunk by OpenAI's servers, and fill the context of a vLLM: Qwen2-VL makes a token
of every 28 x 28."""
MAX_BYTES = 3_500_000
"""Maximum size of one picture; the strictest known servers accept 5 MB in base64."""
LEAST_SCALE = 0.5
"""Text of the usual size can still be read at half size, hardly below."""
STEP = 0.8


def fit_pictures(pictures: Sequence[bytes], max_edge: int) -> tuple[bytes, ...]:
    """Fit PNG pictures, with no edge over `max_edge` pixels and none over MAX_BYTES.

    All are shrunk by one scale, so that they can be compared. An edge shrinks to LEAST_SCALE at most: what is
    then still too tall or too wide is cut off at the bottom or the right. Pictures that fit stay as they are.
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
    """Return a PNG as an address that holds it."""
    return "data:image/png;base64," + base64.b64encode(picture).decode("ascii")


def from_data_url(url: str) -> bytes:
    """Return the picture in such an address."""
    return base64.b64decode(url.partition(",")[2])


def _shrunk(image: Image, scale: float, max_edge: int) -> bytes:
    width, height = (min(max_edge, max(1, round(edge * scale))) for edge in image.size)
    seen = (0, 0, min(image.width, width / scale), min(image.height, height / scale))
    buffer = io.BytesIO()
    image.convert("RGB").resize((width, height), box=seen).save(buffer, "PNG")
    return buffer.getvalue()
