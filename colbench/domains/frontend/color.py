"""The perceived difference between two colors: CIEDE2000 over sRGB.

Sharma, Wu, Dalal, "The CIEDE2000 color-difference formula", Color Research & Application 30(1), 2005. The numbers in
the comments are the numbers of the equations in this paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

XYZ_FROM_RGB = (
    (0.4124564, 0.3575761, 0.1804375),
    (0.2126729, 0.7151522, 0.0721750),
    (0.0193339, 0.1191920, 0.9503041),
)
WHITE = (0.95047, 1.0, 1.08883)
"""The white point D65, as in sRGB."""


def lab(colors: Sequence[str]) -> Floats:
    """Convert colors written `#rrggbb` to CIELAB; shape (len(colors), 3)."""
    import numpy as np

    codes = [[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in colors]
    rgb = np.array(codes, dtype=np.float64).reshape(-1, 3) / 255
    linear = np.where(rgb > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92)
    xyz = linear @ np.array(XYZ_FROM_RGB).T / WHITE
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    x, y, z = f.T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


def ciede2000(first: Floats, second: Floats) -> Floats:
    """Return the differences between two arrays of CIELAB colors, row by row: 0 if equal, 100 for black and white."""
    import numpy as np

    (l1, a1, b1), (l2, a2, b2) = first.T, second.T
    chroma = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    g = 0.5 * (1 - np.sqrt(chroma**7 / (chroma**7 + 25.0**7)))  # (4)
    c1, c2 = np.hypot((1 + g) * a1, b1), np.hypot((1 + g) * a2, b2)  # (5), (6)
    h1, h2 = (np.degrees(np.arctan2(b, (1 + g) * a)) % 360 for a, b in ((a1, b1), (a2, b2)))  # (7)
    gray = c1 * c2 == 0
    turn = np.where(gray, 0, _turn(h2 - h1))  # (10)
    dl, dc = l2 - l1, c2 - c1  # (8), (9)
    dh = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2))  # (11)
    lightness, c = (l1 + l2) / 2, (c1 + c2) / 2  # (12), (13)
    h = np.where(gray, h1 + h2, _mean_hue(h1, h2))  # (14)
    t = 1 + sum(
        factor * np.cos(np.radians(times * h + shift))
        for factor, times, shift in ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.20, 4, -63))
    )  # (15)
    rotation = 60 * np.exp(-(((h - 275) / 25) ** 2))  # (16), doubled
    rc = 2 * np.sqrt(c**7 / (c**7 + 25.0**7))  # (17)
    sl = 1 + 0.015 * (lightness - 50) ** 2 / np.sqrt(20 + (lightness - 50) ** 2)  # (18)
    sc, sh = 1 + 0.045 * c, 1 + 0.015 * c * t  # (19), (20)
    rt = -np.sin(np.radians(rotation)) * rc  # (21)
    dl, dc, dh = dl / sl, dc / sc, dh / sh
    difference: Floats = np.sqrt(dl**2 + dc**2 + dh**2 + rt * dc * dh)  # (22)
    return difference


def _turn(degrees: Floats) -> Floats:
    """Return the equivalent turn in the shorter direction, in [-180, 180] degrees."""
    turn: Floats = degrees - 360.0 * (degrees > 180) + 360.0 * (degrees < -180)
    return turn


def _mean_hue(h1: Floats, h2: Floats) -> Floats:
    """Return the hue halfway between two hues along the shorter arc, in degrees."""
    import numpy as np

    middle = (h1 + h2) / 2
    apart = np.abs(h1 - h2) > 180
    mean: Floats = np.where(apart, np.where(middle < 180, middle + 180, middle - 180), middle)
    return mean
