"""The result of rendering a page in a browser."""

from __future__ import annotations

from typing import Literal, Protocol

from msgspec import Struct

from colbench.config import ScoringMode

RenderOutcome = Literal["rendered", "no page", "too big", "timeout", "crash", "varies"]
"""The outcome of rendering.

All outcomes except `rendered` are caused by the page; a failure of the browser raises RenderError. `no page`: there is
nothing to render. `too big`: the page exceeds a size limit. `varies`: two independent loads of the page look different,
even if no other page is rendered at the same time. `crash`: the page repeatedly crashed browsers that were started only
for it.
"""
BlockKind = Literal["heading", "text", "link", "button", "input", "picture", "box"]
"""`box`: an area without its own text that is visible by its color, border or shadow."""
Align = Literal["left", "center", "right"]


class Block(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One visible element of a page. Lengths are in CSS pixels; `x` and `y` count from the page's upper left corner."""

    kind: BlockKind
    x: int
    y: int
    width: int
    height: int
    text: str = ""
    """The visible text with white space collapsed; an input's value or placeholder; a picture's `alt`."""
    color: str = "#000000"
    """Color of the text, `#rrggbb`."""
    background: str = "#ffffff"
    """Color of the area or behind the text, `#rrggbb`; translucent backgrounds are blended with those below them."""
    font_size: float = 16.0
    bold: bool = False
    align: Align = "left"


class Render(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of rendering one page. The store keeps its picture in a separate file."""

    key: str
    """Hash of the page, the viewport and the browser's environment."""
    outcome: RenderOutcome
    mode: ScoringMode
    """The scoring mode, which sets the window: 1280 x 720 in `default`, the paper release's window in `official`."""
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
    """URLs that the page requested but was not allowed to load."""
    note: str = ""
    """The reason why the picture is missing, in words; empty if the outcome is `rendered`."""
    picture: bytes = b""
    """PNG, RGB, `width` x `height`; empty unless `rendered`."""


class PageRenderer(Protocol):
    """An object that renders pages to pictures."""

    @property
    def environment(self) -> str:
        """Browser, version, fonts and assets: everything that a picture depends on besides the page and the mode."""
        ...

    async def render(self, page: str | None, mode: ScoringMode = "default") -> Render:
        """Render a page, or read its render from the store. The render of None has the outcome "no page".

        Raises RenderError if the browser, not the page, failed, or if the render cannot be stored.
        """
        ...
