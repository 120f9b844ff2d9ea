"""A design: the decisions about a page's look, and the Tailwind classes derived from them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from colbench_tasks.frontend.decisions import Choices

Place = Literal["page", "card", "accent", "white", "black"]
"""The background on which an element stands: the page, a box, the main color, white, or black."""

CORNERS = {
    "sharp": ("", ""),
    "slight": ("rounded", "rounded"),
    "round": ("rounded-xl", "rounded-lg"),
    "pill": ("rounded-3xl", "rounded-full"),
}
"""Pairs of Tailwind classes: the first for the corners of boxes and pictures, the second for buttons and fields."""
ROOM = {
    "close": ("py-6", "gap-4", "p-4"),
    "usual": ("py-12", "gap-6", "p-6"),
    "airy": ("py-16", "gap-10", "p-8"),
}
"""Three Tailwind classes: for the space around sections, for the space between columns, and for the space in boxes."""
WIDTH = {
    "narrow": "max-w-3xl px-6",
    "medium-wide": "max-w-5xl px-6",
    "wide": "max-w-6xl px-6",
    "full-width": "px-12",
}
TITLE = {
    "text-3xl": "text-xl",
    "text-4xl": "text-2xl",
    "text-5xl": "text-2xl",
    "text-6xl": "text-3xl",
}
"""The Tailwind class for the size of section titles, by the class for the size of the headline."""


class Design(Struct, frozen=True, kw_only=True):
    """The choices that determine a page's look. `pictures` is the ID of the page's first picture on picsum.photos.

    Most fields are named after a decision and hold the code of the chosen option; see `from_choices`. Three decisions
    fill two fields, the first from the code and the second from the value: `accent` fills `tone` and `hue`, `headline`
    fills `size` and `align`, and `room` fills `room` and `width`. The field `columns` holds its decision's value.
    """

    hue: str
    tone: str
    ground: str
    bar: str
    navigation: str
    opening: str
    size: str
    align: str
    typeface: str
    corners: str
    room: str
    width: str
    columns: int
    card_look: str
    button_look: str
    footer: str
    pictures: int

    @property
    def dark(self) -> bool:
        """True if the page has white text on a nearly black background."""
        return self.ground == "dark"

    @property
    def dark_cards(self) -> bool:
        """True if the boxes have white text on a black or nearly black background."""
        return self.card_look == "black" or (self.dark and self.card_look in ("border", "free"))

    @property
    def accent(self) -> str:
        """Return CSS classes for an area with the main color as background, and for the text on it."""
        ink = "text-gray-900" if self.tone == "300" else "text-white"
        return f"bg-{self.hue}-{self.tone} {ink}"

    @property
    def deep(self) -> str:
        """Return CSS classes for a background in a very dark shade of the main color."""
        return f"bg-{self.hue}-900 text-white"

    @property
    def body(self) -> str:
        """Return classes for background, typeface and text color."""
        ground = {
            "white": "bg-white",
            "gray": "bg-gray-100",
            "stone": "bg-gray-300",
            "faint": f"bg-{self.hue}-50",
            "tinted": f"bg-{self.hue}-100",
            "dark": "bg-gray-900",
        }[self.ground]
        font = "font-serif" if self.typeface == "serif" else "font-sans"
        return f"{ground} {font} {'text-white' if self.dark else 'text-gray-900'}"

    @property
    def header(self) -> str:
        """Return CSS classes for the area with the name and the links."""
        line = "border-gray-600" if self.dark else "border-gray-400"
        edge = "border-r" if self.navigation == "side" else "border-b"
        return {
            "white": "bg-white text-gray-900 shadow-lg",
            "accent": self.accent,
            "deep": self.deep,
            "black": "bg-black text-white",
            "plain": f"{edge} {line}",
        }[self.bar]

    @property
    def inner(self) -> str:
        """Return the CSS classes of a centered column with the width that the design sets for content."""
        return f"{WIDTH[self.width]} w-full mx-auto"

    @property
    def space(self) -> str:
        """Return classes for the space above and below a section."""
        return ROOM[self.room][0]

    @property
    def gap(self) -> str:
        """Return classes for the space between columns."""
        return ROOM[self.room][1]

    @property
    def grid(self) -> str:
        """Return classes for a grid with the design's number of columns."""
        return f"grid grid-cols-{self.columns} {self.gap}"

    @property
    def round(self) -> str:
        """Return the CSS classes that round the corners of boxes and pictures."""
        return CORNERS[self.corners][0]

    @property
    def box(self) -> str:
        """Return the CSS classes of a box without padding."""
        look = {
            "shadow": "bg-white text-gray-900 shadow-xl",
            "border": "border border-gray-400",
            "tinted": f"bg-{self.hue}-{'200' if self.ground == 'tinted' else '100'} text-gray-900",
            "topped": f"bg-white text-gray-900 border-t-8 border-{self.hue}-{self.tone}",
            "black": "bg-black text-white",
            "free": "",
        }[self.card_look]
        return f"{look} {self.round}"

    @property
    def card(self) -> str:
        """Return classes for a box with padding."""
        return f"{self.box} {ROOM[self.room][2]}"

    @property
    def heading(self) -> str:
        """Return classes for the typeface of headings."""
        return "font-bold font-serif" if self.typeface == "mixed" else "font-bold"

    @property
    def title(self) -> str:
        """Return CSS classes for the title of a section."""
        return f"{TITLE[self.size]} {self.heading} mb-6 {self.align}"

    @property
    def line(self) -> str:
        """Return CSS classes for the color of thin lines on the page."""
        return "border-gray-600" if self.dark else "border-gray-400"

    @property
    def field(self) -> str:
        """Return the CSS classes of an input field."""
        round_ = CORNERS[self.corners][1]
        return f"w-full border border-gray-400 bg-white text-gray-900 px-4 py-2 mb-4 {round_}"

    def shows_accent(self, html: str) -> bool:
        """Return True if an element of a page has a background or an edge in the main color."""
        return any(f"{what}-{self.hue}-{self.tone}" in html for what in ("bg", "border"))

    def _on_dark(self, place: Place) -> bool:
        return {
            "page": self.dark,
            "card": self.dark_cards,
            "accent": self.tone != "300",
            "white": False,
            "black": True,
        }[place]

    def muted(self, place: Place = "page") -> str:
        """Return classes for the color of less important text."""
        return "text-gray-300" if self._on_dark(place) else "text-gray-600"

    def strong(self, place: Place = "page") -> str:
        """Return classes for text in the main color."""
        return f"text-{self.hue}-{'300' if self._on_dark(place) else '700'}"

    def button(self, place: Place = "page") -> str:
        """Return classes for a button."""
        plain = place not in ("accent", "black")
        filled = self.accent if place != "accent" else f"bg-white text-{self.hue}-900"
        look = {
            "filled": filled,
            "outlined": f"border-2 border-current {self.strong(place) if plain else ''}",
            "black": "bg-black text-white",
        }[self.button_look]
        return f"{look} font-bold py-2 px-6 {CORNERS[self.corners][1]}"


def from_choices(choices: Choices, pictures: int) -> Design:
    """Build the design with these choices; `pictures` is as in `Design`."""
    key = {name: choice.option.code for name, choice in choices.items()}
    value = {name: choice.value for name, choice in choices.items()}
    return Design(
        hue=str(value["accent"]),
        tone=key["accent"],
        ground=key["ground"],
        bar=key["bar"],
        navigation=key["navigation"],
        opening=key["opening"],
        size=key["headline"],
        align="text-center" if value["headline"] == "centred" else "text-left",
        typeface=key["typeface"],
        corners=key["corners"],
        room=key["room"],
        width=str(value["room"]),
        columns=int(str(value["columns"])),
        card_look=key["card"],
        button_look=key["buttons"],
        footer=key["footer"],
        pictures=pictures,
    )


def goes_together(design: Design) -> bool:
    """Return True if the choices fit together: all parts are visible, no column is too narrow, and no tint is gray."""
    black = "black" in (design.button_look, design.card_look)
    on_black = design.dark and (design.tone == "800" or black)
    hidden = design.button_look == "black" and design.card_look == "black"
    tints = ("faint", "tinted")
    gray = design.hue == "gray" and (
        design.ground in tints or design.card_look == "tinted" or black or design.bar == "deep"
    )
    crowded = design.columns == 4 and (design.width == "narrow" or design.navigation == "side")
    tight = design.width == "narrow" and design.columns == 3 and design.navigation == "side"
    in_bar = design.navigation == "action" and design.bar in ("deep", "black")
    lost = in_bar and (design.button_look == "black" or design.tone == "800")
    return not (on_black or hidden or gray or crowded or tight or lost)
