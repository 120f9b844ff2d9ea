"""Structural similarity of two pictures (Wang, Bovik, Sheikh, Simoncelli, IEEE TIP 13(4), 2004).

Each picture is placed in the upper left corner of a canvas with the larger width and the larger height of the two; the
rest of the canvas is filled with the background color of the pictured page. The canvas is converted to gray and
averaged over squares so that its shorter side is about 256 pixels, as the authors advise.
"""

from __future__ import annotations

import io
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image

    Floats = NDArray[np.float64]

SHORT_SIDE = 256
SIGMA = 1.5
RADIUS = 5
"""Radius of the Gaussian window: 11 x 11 pixels."""
C1, C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2


def picture_ssim(
    mine: bytes, theirs: bytes, my_background: str = "#ffffff", their_background: str = "#ffffff"
) -> float:
    """Return the SSIM of two PNG pictures of any sizes, in [-1, 1]; 1 if their reduced gray canvases are equal.

    The background colors fill the part of the canvas that a smaller picture leaves free.
    """
    from PIL import Image

    with Image.open(io.BytesIO(mine)) as first, Image.open(io.BytesIO(theirs)) as second:
        size = (max(first.width, second.width), max(first.height, second.height))
        return ssim(
            _gray(first, size, my_background),
            _gray(second, size, their_background),
        )


def _gray(picture: Image.Image, size: tuple[int, int], background: str) -> Floats:
    """Put a picture on a canvas of `size`; return the luminance of the reduced canvas: (height, width), 0 to 255."""
    import numpy as np
    from PIL import Image

    canvas = Image.new("RGB", size, background)
    canvas.paste(picture)
    factor = max(1, round(min(size) / SHORT_SIDE))
    return np.asarray(canvas.convert("L").reduce(factor), dtype=np.float64)


def ssim(x: Floats, y: Floats) -> float:
    """Return the mean of the SSIM index over all pixels (equation 13) of two arrays with values in [0, 255].

    Local moments are weighted by the authors' Gaussian window; arrays are mirrored beyond their edges.
    """
    from scipy.ndimage import gaussian_filter

    local = partial(gaussian_filter, sigma=SIGMA, radius=RADIUS)
    mean_x, mean_y = local(x), local(y)
    variance_x, variance_y = local(x * x) - mean_x**2, local(y * y) - mean_y**2
    covariance = local(x * y) - mean_x * mean_y
    index = ((2 * mean_x * mean_y + C1) * (2 * covariance + C2)) / (
        (mean_x**2 + mean_y**2 + C1) * (variance_x + variance_y + C2)
    )
    return float(index.mean())
