"""Plain names of colours, as a person says them, and what is meant by each (Tailwind's palette)."""

from __future__ import annotations

SHADES = {
    # hue: very light (100), light (200), plain (500), dark (800)
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
    for hue, values in SHADES.items()
    for shade, value in zip(("very light ", "light ", "", "dark "), values, strict=True)
}
STEP = 0.1
"""How much lighter or darker a little is."""
SYNONYMS = {"gray": "grey", "violet": "purple", "navy": "dark blue", "cyan": "teal"}


def named(words: str) -> str | None:
    """The `#rrggbb` of a colour's name; None if it is no name of a colour."""
    name = " ".join(SYNONYMS.get(word, word) for word in words.lower().split())
    return NAMES.get(name)


def on(background: str) -> str:
    """The colour of text that can be read on a background."""
    red, green, blue = (int(background[at : at + 2], 16) for at in (1, 3, 5))
    dark = 0.299 * red + 0.587 * green + 0.114 * blue < 150
    return "#ffffff" if dark else "#000000"


def mixed(color: str, now: str) -> str:
    """A colour as it was said: itself, or what is `lighter` or `darker` than now by a little."""
    if color not in ("lighter", "darker"):
        return color
    end = 255 if color == "lighter" else 0
    parts = (int(now[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + (end - part) * STEP):02x}" for part in parts)
