"""The design decisions of a page: what the request leaves open and only the hidden reference settles."""

from __future__ import annotations

from random import Random

import msgspec
from msgspec import Struct

OPTIONS = {
    "accent": ("red", "yellow", "green", "blue", "indigo", "purple", "pink"),
    "bar": ("white", "accent", "deep", "black"),
    "ground": ("bg-white", "bg-gray-100", "tinted"),
    "heading": ("text-3xl", "text-4xl", "text-5xl"),
    "align": ("left", "center"),
    "corners": ("", "rounded", "rounded-lg"),
    "spacing": ("py-8", "py-12", "py-16"),
    "columns": (2, 3, 4),
    "width": ("max-w-4xl", "max-w-5xl", "max-w-6xl"),
    "navigation": ("split", "centred", "stacked"),
    "opening": ("words", "band", "split", "picture"),
    "card": ("shadow", "border", "tinted"),
    "footer": ("plain", "dark", "columns"),
    "typeface": ("font-sans", "font-serif"),
}


class Design(Struct, frozen=True, kw_only=True):
    """One choice for each decision in `OPTIONS`, and the number that picks pictures."""

    accent: str
    bar: str
    ground: str
    heading: str
    align: str
    corners: str
    spacing: str
    columns: int
    width: str
    navigation: str
    opening: str
    card: str
    footer: str
    typeface: str
    pictures: int

    @property
    def bar_classes(self) -> str:
        """Background and text of the navigation bar."""
        return {
            "white": f"bg-white text-{self.accent}-700 shadow",
            "accent": f"bg-{self.accent}-500 text-white",
            "deep": f"bg-{self.accent}-800 text-white",
            "black": "bg-gray-900 text-white",
        }[self.bar]

    @property
    def ground_classes(self) -> str:
        """Background of the page."""
        return f"bg-{self.accent}-50" if self.ground == "tinted" else self.ground

    @property
    def card_classes(self) -> str:
        """What makes a card stand out from the page."""
        look = {
            "shadow": "bg-white shadow-lg",
            "border": "bg-white border-2 border-gray-300",
            "tinted": f"bg-{self.accent}-100",
        }[self.card]
        return f"{look} {self.corners} p-6"

    @property
    def button_classes(self) -> str:
        """A filled button."""
        return f"bg-{self.accent}-600 text-white font-bold py-2 px-6 {self.corners}"

    @property
    def text_classes(self) -> str:
        """Alignment of running text."""
        return f"text-{self.align}"

    @property
    def grid_classes(self) -> str:
        """A grid with the design's number of columns."""
        return f"grid grid-cols-{self.columns} gap-6"

    @property
    def inner_classes(self) -> str:
        """A centred column of the design's width."""
        return f"{self.width} mx-auto px-6"


def draw(random: Random) -> Design:
    """A design with every decision drawn by itself."""
    chosen = {name: random.choice(options) for name, options in OPTIONS.items()}
    return msgspec.convert(chosen | {"pictures": random.randrange(10, 200)}, Design)
