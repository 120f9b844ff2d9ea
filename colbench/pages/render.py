"""The result of rendering a page in a browser."""

from __future__ import annotations

from typing import Literal, Protocol

from msgspec import Struct

from colbench.config import ScoringMode

RenderOutcome = Literal["rendered", "no page", "too big", "timeout", "crash", "varies"]
"""How rendering ended. All but `rendered` are the page's own doing; a browser that fails raises RenderError.

`varies`: two independent loads of the page look different, and did so again when nothing else was rendered.
`crash`: the page brought down its own fresh browser, again and again.
"""
BlockKind = Literal["heading", "text", "link", "button", "input", "picture", "box"]
"""`box`: an area without its own text that is visible by its color, border or shadow."""
Align = Literal["left", "center", "right"]


class Block(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One visible thing on a page. Lengths are in CSS pixels from the page's upper left corner."""

    kind: BlockKind
    x: int
    y: int
    width: int
    height: int
    text: str = ""
    """The visible text with white space collapsed; for an input its value or placeholder, for a picture its `alt`."""
    color: str = "#000000"
    """Color of the text, `#rrggbb`."""
    background: str = "#ffffff"
    """Its background, `#rrggbb`: the nearest opaque background color."""
    font_size: float = 16.0
    bold: bool = False
    align: Align = "left"


class Render(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One page as rendered. The picture is apart, in the same entry of the store."""

    key: str
    """Hash of the page, the viewport and the browser's environment."""
    outcome: RenderOutcome
    mode: ScoringMode
    """The window: `default` is 1280 x 720, `official` is that of the paper's release."""
    width: int = 0
    """Width of the picture in pixels."""
    height: int = 0
    background: str = "#ffffff"
    """Background of the whole page."""
    blocks: tuple[Block, ...] = ()
    """Visible blocks in reading order: by y, then x."""
    cut: bool = False
    """True if the page is taller than the maximum height of the picture."""
    refused: tuple[str, ...] = ()
    """Addresses that the page asked for and did not get."""
    note: str = ""
    """The reason why there is no picture, in words."""
    picture: bytes = b""
    """PNG, RGB, `width` x `height`; empty unless `rendered`."""


class PageRenderer(Protocol):
    """Whatever turns pages into pictures."""

    @property
    def environment(self) -> str:
        """Browser, version, fonts and assets: everything besides the page that a picture depends on."""
        ...

    async def render(self, page: str | None, mode: ScoringMode = "default") -> Render:
        """Render the page, or take its render from the store; None is "no page".

        Raises RenderError when the browser, not the page, failed.
        """
        ...
