"""Quotes of texts and names of blocks, as a person would say them."""

from __future__ import annotations

from colbench.pages.render import Block, BlockKind

QUOTED_CHARS = 60
KINDS: dict[BlockKind, str] = {
    "heading": "heading",
    "text": "paragraph",
    "link": "link",
    "button": "button",
    "input": "input field",
    "picture": "picture",
    "box": "area",
}
_SIZES = (
    (12.5, "very small"),
    (14.6, "small"),
    (17.0, ""),
    (21.0, "medium"),
    (27.0, "large"),
    (40.0, "very large"),
)


def quote(text: str) -> str:
    """Quote a text in straight quotation marks; a long text is cut after a word and ends in …."""
    plain = " ".join(text.replace('"', "'").split())
    if len(plain) <= QUOTED_CHARS:
        return f'"{plain}"'
    cut = plain[:QUOTED_CHARS]
    return f'"{cut.rsplit(" ", 1)[0] if " " in cut else cut}…"'


def size(block: Block) -> str:
    """Return a phrase such as `large text`; "" for text of normal size."""
    for most, word in _SIZES:
        if block.font_size <= most:
            return f"{word} text" if word else ""
    return "huge text"


def roughly(pixels: float) -> int:
    """Round a number of pixels, without its sign, to a multiple of 5 (below 100) or 10; the result is at least 5."""
    step = 5 if abs(pixels) < 100 else 10
    return max(step, round(abs(pixels) / step) * step)
