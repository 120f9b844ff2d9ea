"""Positions as a person describes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from colbench.domains.frontend.human.page import Page, middle
from colbench.domains.frontend.human.words import quote
from colbench.pages.render import Block

_NEAR_BESIDE = 260
_NEAR_BELOW = 260
"""Maximum distance, in pixels, at which a block is described as next to or below another block."""
_WIDE = 0.6
_EDGE = 120
"""Distance in pixels within which a block counts as being at the top or the bottom of the page.

In `vertical`, the limit is 20% of the page's height if that is a greater distance.
"""


def place(block: Block, page: Page, anchors: Sequence[Block]) -> str:
    """Describe where a block is: next to an anchor, at the top, below or above an anchor, or in a cell of a 3 x 3 grid.

    The first description that fits is used. The anchors are blocks of this page whose text also occurs on the other
    page.
    """
    others = [anchor for anchor in anchors if anchor is not block and anchor.text]
    if block.width < _WIDE * page.width:
        beside = _nearest(others, lambda other: _beside(block, other))
        if beside:
            side = "right" if middle(block)[0] > middle(beside)[0] else "left"
            return f"to the {side} of {quote(beside.text)}"
    if block.y + block.height / 2 < _EDGE:
        return spot(block, page)
    above = _nearest(others, lambda other: _below(block, other))
    if above:
        return f"below {quote(above.text)}"
    under = _nearest(others, lambda other: _below(other, block))
    return f"above {quote(under.text)}" if under else spot(block, page)


def spot(block: Block, page: Page) -> str:
    """Return the block's position, as one of nine places on the page."""
    x, y = middle(block)
    across = x / max(1, page.width)
    side = "left" if across < 0.36 else "right" if across > 0.64 else ""
    if block.width >= _WIDE * page.width:
        side = ""
    height = vertical(y, page)
    if height == "middle":
        return f"on the {side} in the middle" if side else "in the middle"
    return f"at the {height} {side}".rstrip()


def vertical(y: float, page: Page) -> str:
    """Return `top`, `middle` or `bottom` for a vertical position on the page."""
    if y < max(_EDGE, 0.2 * page.height):
        return "top"
    return "bottom" if y > page.height - max(_EDGE, 0.2 * page.height) else "middle"


def _nearest(blocks: Sequence[Block], far: Callable[[Block], float | None]) -> Block | None:
    found = [
        (distance, at) for at, block in enumerate(blocks) if (distance := far(block)) is not None
    ]
    return blocks[min(found)[1]] if found else None


def _beside(block: Block, other: Block) -> float | None:
    """Return the gap between two blocks that are side by side.

    Return None if the blocks are not side by side, if the gap is wide, or if `other` is much wider than `block`.
    """
    shared = min(block.y + block.height, other.y + other.height) - max(block.y, other.y)
    if shared < 0.5 * min(block.height, other.height) or other.width > 3 * block.width + 200:
        return None
    gap = max(other.x - block.x - block.width, block.x - other.x - other.width)
    return gap if -4 <= gap <= _NEAR_BESIDE else None


def _below(block: Block, other: Block) -> float | None:
    """Return the gap between `block` and the block `other` above it, plus 5% of the offset of their left edges.

    Return None if `other` is not directly above `block`, or is too far away.
    """
    shared = min(block.x + block.width, other.x + other.width) - max(block.x, other.x)
    gap = block.y - other.y - other.height
    if shared <= 0 or not -8 <= gap <= _NEAR_BELOW:
        return None
    return gap + 0.05 * abs(block.x - other.x)
