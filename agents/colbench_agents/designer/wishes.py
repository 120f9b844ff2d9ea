"""What the human wants changed: one value for each kind of sentence."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from colbench.pages.render import Align, BlockKind


class Place(Struct, frozen=True):
    """Where on the page: beside something that is there, or at a spot such as "top left"."""

    relation: Literal["below", "above", "right", "left", ""] = ""
    anchor: str = ""
    """The quoted text of what it is beside."""
    spot: str = ""
    """Of `top`, `middle`, `bottom` and `left`, `right`: what was said, parted by a space."""


class Missing(Struct, frozen=True, kw_only=True):
    """There should be something more, or several of it side by side."""

    kind: BlockKind
    texts: tuple[str, ...]
    place: Place
    columns: bool = False
    size: str = ""
    color: str | None = None
    background: str | None = None
    on_picture: bool = False
    """Whether it is to stand on a picture, not on a colour."""
    width: int | None = None
    height: int | None = None


class Surplus(Struct, frozen=True, kw_only=True):
    """Something should not be there."""

    kind: BlockKind
    text: str = ""
    place: Place = Place()


class Reworded(Struct, frozen=True, kw_only=True):
    """Something should say something else. A new text that begins with … replaces from its first words on."""

    kind: BlockKind
    mine: str
    theirs: str


class Lengthened(Struct, frozen=True, kw_only=True):
    """A text should be so many words longer, or shorter if negative."""

    kind: BlockKind
    text: str
    words: int


class Recolored(Struct, frozen=True, kw_only=True):
    """Text, or what is behind it, should have another colour; without a text the page, or a part of it.

    `color` is `#rrggbb`, or `lighter` or `darker` than now.
    """

    part: Literal["text", "background", "band", "page"]
    color: str
    kind: BlockKind = "text"
    text: str = ""
    place: Place = Place()


class Resized(Struct, frozen=True, kw_only=True):
    """Text should be so many steps larger (or smaller, if negative), or of another weight."""

    kind: BlockKind
    text: str
    steps: int = 0
    bold: bool | None = None


class Measured(Struct, frozen=True, kw_only=True):
    """A picture, area or other thing should be so large, in pixels."""

    kind: BlockKind
    width: int
    height: int
    place: Place = Place()
    text: str = ""


class Moved(Struct, frozen=True, kw_only=True):
    """Something should be elsewhere: at a place, aligned, or shifted by pixels."""

    kind: BlockKind
    text: str = ""
    now: Place = Place()
    """Where it is, if it has no text."""
    place: Place | None = None
    align: Align | None = None
    right: int = 0
    down: int = 0
    alone: bool = False
    """Whether what is beside and below stays where it is."""


class Height(Struct, frozen=True):
    """The page should be `wanted` pixels tall; it is `now`, or 0 if that was not said."""

    wanted: int
    now: int = 0


Wish = Missing | Surplus | Reworded | Lengthened | Recolored | Resized | Measured | Moved | Height
