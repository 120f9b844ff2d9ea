"""Changes requested by the human: one class for each kind of sentence."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from colbench.pages.render import Align, BlockKind


class Place(Struct, frozen=True):
    """A position on the page: next to an existing thing, or a spot such as "top left"."""

    relation: Literal["below", "above", "right", "left", ""] = ""
    anchor: str = ""
    """The quoted text of the neighboring thing."""
    spot: str = ""
    """Words from `top`, `middle`, `bottom`, `left` and `right`, separated by spaces; "" if the human names no spot."""


class Missing(Struct, frozen=True, kw_only=True):
    """A wish to add one missing thing to the page, or several things of one kind side by side."""

    kind: BlockKind
    texts: tuple[str, ...]
    place: Place
    size: str = ""
    color: str | None = None
    background: str | None = None
    on_picture: bool = False
    """True if the things should be in front of a picture instead of a colored background."""
    width: int | None = None
    height: int | None = None


class Surplus(Struct, frozen=True, kw_only=True):
    """A wish to remove something."""

    kind: BlockKind
    text: str = ""
    place: Place = Place()


class Reworded(Struct, frozen=True, kw_only=True):
    """A wish to replace the text `mine` of the designer's page with the human's text `theirs`.

    If `theirs` begins with …, only the end of `mine` is replaced, starting where the first two words of `theirs` occur.
    """

    kind: BlockKind
    mine: str
    theirs: str


class Lengthened(Struct, frozen=True, kw_only=True):
    """A wish to lengthen a text by `words` words, or to shorten it if `words` is negative."""

    kind: BlockKind
    text: str
    words: int


class Recolored(Struct, frozen=True, kw_only=True):
    """A wish for another color: of a text, of a thing's background, of a part of the page, or of the whole page.

    `color` is `#rrggbb`, `lighter` or `darker`.
    """

    part: Literal["text", "background", "band", "page"]
    color: str
    kind: BlockKind = "text"
    text: str = ""
    place: Place = Place()


class Resized(Struct, frozen=True, kw_only=True):
    """A wish for a text to be larger by `steps` sizes (smaller if negative), or to be bold or not bold."""

    kind: BlockKind
    text: str
    steps: int = 0
    bold: bool | None = None


class Measured(Struct, frozen=True, kw_only=True):
    """A wish for a picture, an area or another thing to have this size, in pixels."""

    kind: BlockKind
    width: int
    height: int
    place: Place = Place()
    text: str = ""


class Moved(Struct, frozen=True, kw_only=True):
    """A wish for something to be elsewhere: at a place, aligned, or shifted by pixels."""

    kind: BlockKind
    text: str = ""
    now: Place = Place()
    """The current position of the thing to move; used only if the thing has no text."""
    place: Place | None = None
    align: Align | None = None
    right: int = 0
    down: int = 0
    alone: bool = False
    """True if only this thing should move, and not the things next to it and below it."""


class Height(Struct, frozen=True):
    """A wish for the page to be `wanted` pixels tall instead of `now`; `now` is 0 if the human did not state it."""

    wanted: int
    now: int = 0


Wish = Missing | Surplus | Reworded | Lengthened | Recolored | Resized | Measured | Moved | Height
