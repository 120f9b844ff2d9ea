"""Colours as a person names them, and how different two of them look."""

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
    "brown": ("#efebe9", "#d7ccc8", "#92613a", "#4e342e"),
}
NAMES = {"black": "#000000", "white": "#ffffff"} | {
    f"{shade}{hue}": value
    for hue, values in _SHADES.items()
    for shade, value in zip(("very light ", "light ", "", "dark "), values, strict=True)
}
"""What is meant by each name; the hues are Tailwind's, as pages mostly have them."""
_GREY_CHROMA = 6.0
"""Below this chroma a colour has no hue to name (CIELAB)."""
_GREYS = frozenset(("black", "white", *(name for name in NAMES if name.endswith("grey"))))

Lab = tuple[float, float, float]


@lru_cache(maxsize=4096)
def name(color: str) -> str:
    """The name that comes nearest to `#rrggbb`."""
    _, a, b = lab(color)
    names = _GREYS if math.hypot(a, b) < _GREY_CHROMA else NAMES
    return min(sorted(names), key=lambda known: distance(color, NAMES[known]))


@lru_cache(maxsize=65536)
def distance(one: str, other: str) -> float:
    """How different two colours look: Euclidean in CIELAB (CIE 1976); about 2 can just be told apart."""
    return math.dist(lab(one), lab(other))


@lru_cache(maxsize=4096)
def lab(color: str) -> Lab:
    """`#rrggbb` (sRGB, D65) in CIELAB: L from 0 to 100, a, b."""
    red, green, blue = (_linear(int(color[at : at + 2], 16) / 255) for at in (1, 3, 5))
    x = (0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047
    y = 0.2126729 * red + 0.7151522 * green + 0.0721750 * blue
    z = (0.0193339 * red + 0.1191920 * green + 0.9503041 * blue) / 1.08883
    fx, fy, fz = map(_root, (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


def _root(value: float) -> float:
    return value ** (1 / 3) if value > 216 / 24389 else (24389 / 27 * value + 16) / 116
