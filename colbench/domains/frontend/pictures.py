"""CLIP's inputs made from a page's picture: the paper's crop, and the whole page.

`crop`: the picture is resized so that its shorter edge fits the model's input, and the center is cropped, as in
open_clip and OpenAI's code; only a square in the middle of a tall page is visible. `page`: the whole picture is
squashed to a square, as in Design2Code (arXiv 2403.03163). Padding to a square would keep the proportions but waste
most of the input: a page of 1280 x 4000 pixels would become a strip 72 pixels wide.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image

View = Literal["crop", "page"]


def frame(picture: bytes, views: Sequence[View], size: int) -> NDArray[np.uint8]:
    """Return the given views of a PNG picture; shape (len(views), size, size, 3). Raises OSError for invalid bytes."""
    import numpy as np
    from PIL import Image

    with Image.open(io.BytesIO(picture)) as opened:
        image = opened.convert("RGB")
    return np.stack([np.asarray(_framed(image, view, size)) for view in views])


def _framed(image: Image.Image, view: View, size: int) -> Image.Image:
    from PIL.Image import Resampling

    if view == "page":
        return image.resize((size, size), Resampling.BICUBIC)
    width, height = (int(size * side / min(image.size)) for side in image.size)
    left, top = round((width - size) / 2), round((height - size) / 2)
    resized = image.resize((width, height), Resampling.BICUBIC)
    return resized.crop((left, top, left + size, top + size))
