"""Sizes of text, which are computed because the designer sees no picture of its page.

The widths of characters are those in Helvetica and metric-compatible fonts, in thousandths of the font size.
"""

from __future__ import annotations

import math

LINE_HEIGHTS = {
    12: 16,
    14: 20,
    16: 24,
    18: 28,
    20: 28,
    24: 32,
    30: 36,
    36: 40,
    48: 48,
    60: 60,
    72: 72,
}
"""Tailwind's text sizes and their line heights, in pixels."""
SIZES = tuple(LINE_HEIGHTS)
WIDTHS = {
    letter: width
    for letters, width in (
        ("'ijl", 222),
        (" !,./:;ftI", 278),
        ('-()r"', 333),
        ("Jcksvxyz", 500),
        ("FTZ", 611),
        ("&ABEKPSVXY", 667),
        ("CDHNRUw", 722),
        ("GOQ©", 778),
        ("Mm", 833),
        ("W…", 960),
    )
    for letter in letters
}
OTHER = 556
BOLD = 1.06


def text_width(text: str, size: int, *, bold: bool = False) -> float:
    """Return the width in pixels of text on one line."""
    width = sum(WIDTHS.get(letter, OTHER) for letter in text) * size / 1000
    return width * (BOLD if bold else 1)


def text_height(text: str, size: int, width: float, *, bold: bool = False) -> float:
    """Return the height in pixels of text broken into lines of a given width."""
    words = text_width(text, size, bold=bold)
    lines = max(1, math.ceil(words * 1.02 / max(width, 1)))
    return lines * LINE_HEIGHTS[size]
