"""Names of colors as a person would say them, and how different two colors look."""

from __future__ import annotations

import math
from functools import lru_cache

_SHADES = {
    # hue: very light, light, plain, dark
    "grey": ("#f3f4f6", "#d1d5db", "#6b7280", "#1f2937"),
    "red": ("#fee2e2", "#fecaca", "#ef4444", "#991b1b"),
    "orange": ("#ffedd5", "#fed7aa", "#f97316", "#9a3412"),
    "yellow": ("#fef3c7", "#fde68a", "#f59e0b", "#92400e"),
    "green": ("#d1fae5", "#a7f3d0", "#10b981", "#065f46"),
    "teal": ("#ccfbf1", "#99f6e4", "#14b8a6", "#115e59"),
    "blue": ("#dbeafe", "#bfdbfe", "#3b82f6", "#1e40af"),
    "indigo": ("#e0e7ff", "#c7d2fe", "#6366f1", "#3730a3"),
    "purple": ("#ede9fe", "#ddd6fe", "#8b5cf6", "#5b21b6"),
    "pink": ("#fce7f3", "#fbcfe8", "#ec4899", "#9d174d"),
}
NAMES = {"black": "#000000", "white": "#ffffff", "brown": "#92613a"} | {
    f"{shade}{hue}": value
    for hue, values in _SHADES.items()
    for shade, value in zip(("very light ", "light ", "", "dark "), values, strict=True)
}
"""The color of each name; the hues are Tailwind's, which most pages use."""
_GREYISH, _GREY = 0.06, 0.005
"""Chroma below which a color is called gray: `_GREYISH * (1 - lightness) + _GREY`, which is higher for dark colors."""
_GREYS = ("black", "white", *(name for name in NAMES if name.endswith("grey")))

Lab = tuple[float, float, float]


@lru_cache(maxsize=4096)
def name(color: str) -> str:
    """Return the color name that fits `#rrggbb` best: mainly by hue, then by lightness and chroma."""
    lightness, a, b = oklab(color)
    grey = math.hypot(a, b) < _GREYISH * (1 - lightness) + _GREY
    names = _GREYS if grey else sorted(NAMES.keys() - set(_GREYS))
    return min(names, key=lambda known: _unlike(color, NAMES[known]))


def _unlike(one: str, other: str) -> float:
    (l1, a1, b1), (l2, a2, b2) = oklab(one), oklab(other)
    strong = math.hypot(a1, b1) - math.hypot(a2, b2)
    hue = math.sqrt(max(0.0, (a1 - a2) ** 2 + (b1 - b2) ** 2 - strong**2))
    return math.hypot(l1 - l2, strong, 3 * hue)


@lru_cache(maxsize=65536)
def distance(one: str, other: str) -> float:
    """Return how different two colors look: 100 times their Euclidean distance in Oklab; about 2 is just noticeable."""
    return 100 * math.dist(oklab(one), oklab(other))


@lru_cache(maxsize=4096)
def oklab(color: str) -> Lab:
    """Convert `#rrggbb` (sRGB) to Oklab coordinates: lightness (0 to 1), a and b.

    B. Ottosson 2020; CSS Color 4.
    """
    red, green, blue = (_linear(int(color[at : at + 2], 16) / 255) for at in (1, 3, 5))
    long = math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
    medium = math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
    short = math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
    return (
        0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short,
    )


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
