"""What CLIP is shown of a page's picture: the paper's crop, and the whole page.

`crop`: the shorter edge resized to the model's input, then the centre cut out, as open_clip and OpenAI do it;
of a tall page only a square in the middle is seen.
`page`: the whole picture squashed to a square, as Design2Code (arXiv 2403.03163) does it. Padding to a square
would keep the proportions and spend most of the input on padding: of a page 1280 x 4000 the model would see a
strip 72 pixels wide.
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
    """The views of a PNG picture; shape (len(views), size, size, 3). Raises OSError for bytes that are none."""
    import numpy as np
    from PIL import Image

    with Image.open(io.BytesIO(picture)) as opened:
        image = opened.convert("RGB")
    width, height = image.size
    short = min(width, height)
    resized = (int(size * width / short), int(size * height / short))
    if width <= height:
        # Pillow resizes along the rows first and rounds in between: both views share that half of the work.
        image = image.resize((size, height), Image.Resampling.BICUBIC)
    framed = [
        _centre(image.resize(resized, Image.Resampling.BICUBIC), size)
        if view == "crop"
        else image.resize((size, size), Image.Resampling.BICUBIC)
        for view in views
    ]
    return np.stack([np.asarray(each) for each in framed])


def _centre(image: Image.Image, size: int) -> Image.Image:
    left, top = (round((side - size) / 2) for side in image.size)
    return image.crop((left, top, left + size, top + size))
