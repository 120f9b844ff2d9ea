"""Plain color names and the colors they stand for (Tailwind's palette, and shades of brown)."""

from __future__ import annotations

TAILWIND = {
    "grey": "f9fafb f3f4f6 e5e7eb d1d5db 9ca3af 6b7280 4b5563 374151 1f2937 111827",
    "red": "fef2f2 fee2e2 fecaca fca5a5 f87171 ef4444 dc2626 b91c1c 991b1b 7f1d1d",
    "yellow": "fffbeb fef3c7 fde68a fcd34d fbbf24 f59e0b d97706 b45309 92400e 78350f",
    "green": "ecfdf5 d1fae5 a7f3d0 6ee7b7 34d399 10b981 059669 047857 065f46 064e3b",
    "blue": "eff6ff dbeafe bfdbfe 93c5fd 60a5fa 3b82f6 2563eb 1d4ed8 1e40af 1e3a8a",
    "indigo": "eef2ff e0e7ff c7d2fe a5b4fc 818cf8 6366f1 4f46e5 4338ca 3730a3 312e81",
    "purple": "f5f3ff ede9fe ddd6fe c4b5fd a78bfa 8b5cf6 7c3aed 6d28d9 5b21b6 4c1d95",
    "pink": "fdf2f8 fce7f3 fbcfe8 f9a8d4 f472b6 ec4899 db2777 be185d 9d174d 831843",
    "orange": "fff7ed ffedd5 fed7aa fdba74 fb923c f97316 ea580c c2410c 9a3412 7c2d12",
    "teal": "f0fdfa ccfbf1 99f6e4 5eead4 2dd4bf 14b8a6 0d9488 0f766e 115e59 134e4a",
}
SCALES = {hue: [f"#{code}" for code in codes.split()] for hue, codes in TAILWIND.items()}
"""The shades of each hue, from light to dark."""
NAMES = (
    {"black": "#000000", "white": "#ffffff"}
    | {f"very light {hue}": scale[1] for hue, scale in SCALES.items()}
    | {f"light {hue}": scale[3 if hue == "grey" else 2] for hue, scale in SCALES.items()}
    | {hue: scale[5] for hue, scale in SCALES.items()}
    | {f"dark {hue}": scale[8] for hue, scale in SCALES.items()}
    | {"very light brown": "#efebe9", "light brown": "#d7ccc8", "brown": "#92613a"}
    | {"dark brown": "#4e342e"}
)
STEP = 0.1
"""Step of `mixed` for a color outside `SCALES`, as a share of the color's distance to white or black."""
SYNONYMS = {"gray": "grey", "violet": "purple", "navy": "dark blue", "cyan": "teal"}


def named(words: str) -> str | None:
    """Return the `#rrggbb` value of a color name; None for an unknown name."""
    name = " ".join(SYNONYMS.get(word, word) for word in words.lower().split())
    return NAMES.get(name)


def on(background: str) -> str:
    """Return a text color that is readable on a background."""
    red, green, blue = (int(background[at : at + 2], 16) for at in (1, 3, 5))
    dark = 0.299 * red + 0.587 * green + 0.114 * blue < 150
    return "#ffffff" if dark else "#000000"


def mixed(color: str, now: str) -> str:
    """Return `color`; for `lighter` or `darker`, return the color that is one shade lighter or darker than `now`."""
    if color not in ("lighter", "darker"):
        return color
    for scale in SCALES.values():
        shades = ["#ffffff", *scale, "#000000"]
        if now in shades:
            at = shades.index(now) + (1 if color == "darker" else -1)
            return shades[min(len(shades) - 1, max(0, at))]
    end = 255 if color == "lighter" else 0
    parts = (int(now[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + (end - part) * STEP):02x}" for part in parts)
