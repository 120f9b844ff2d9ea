"""CSS colors: parsing of the browser's computed values, and compositing."""

from __future__ import annotations

import math
import re

from msgspec import Struct

_FUNCTION = re.compile(r"(rgba?|color|oklab|oklch)\(([^()]*)\)")
_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?|none")


class Color(Struct, frozen=True):
    """A color: sRGB channels from 0 to 255, and alpha from 0 to 1."""

    red: float
    green: float
    blue: float
    alpha: float = 1.0

    def over(self, behind: Color) -> Color:
        """Return this color laid over the opaque color `behind`."""
        red, green, blue = (
            below + (above - below) * self.alpha
            for above, below in zip(self.rgb, behind.rgb, strict=True)
        )
        return Color(red, green, blue)

    def faded(self, opacity: float) -> Color:
        """Return this color with its alpha multiplied by an opacity."""
        return Color(self.red, self.green, self.blue, self.alpha * opacity)

    def contrast(self, other: Color) -> float:
        """Return the largest difference in any channel, 0 to 255."""
        return max(abs(a - b) for a, b in zip(self.rgb, other.rgb, strict=True))

    @property
    def rgb(self) -> tuple[float, float, float]:
        """The channels without alpha."""
        return self.red, self.green, self.blue

    @property
    def hex(self) -> str:
        """The color as `#rrggbb`."""
        return "#" + "".join(f"{round(min(255.0, max(0.0, c))):02x}" for c in self.rgb)


WHITE = Color(255.0, 255.0, 255.0)
NOTHING = Color(0.0, 0.0, 0.0, 0.0)


def read_color(text: str) -> Color:
    """Parse the first color in a computed value; return NOTHING if no color can be parsed."""
    found = _FUNCTION.search(text)
    if not found:
        return NOTHING
    name = found.group(1)
    numbers = [0.0 if n == "none" else float(n) for n in _NUMBER.findall(found.group(2))]
    if len(numbers) < 3:
        return NOTHING
    alpha = numbers[3] if len(numbers) > 3 else 1.0
    first, second, third = numbers[:3]
    if name == "oklch":
        angle = math.radians(third)
        return _oklab(first, second * math.cos(angle), second * math.sin(angle), alpha)
    if name == "oklab":
        return _oklab(first, second, third, alpha)
    scale = 255.0 if name == "color" else 1.0
    return Color(first * scale, second * scale, third * scale, alpha)


def _oklab(lightness: float, a: float, b: float, alpha: float) -> Color:
    """Convert Oklab to sRGB, with the matrices of CSS Color 4 (B. Ottosson); channels are clipped."""
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    red, green, blue = (255.0 * _gamma(min(1.0, max(0.0, channel))) for channel in linear)
    return Color(red, green, blue, alpha)


def _gamma(channel: float) -> float:
    return 12.92 * channel if channel <= 0.0031308 else 1.055 * channel ** (1 / 2.4) - 0.055
