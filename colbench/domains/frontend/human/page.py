"""A page as a person sees it: its contents, in horizontal bands, on colored areas."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property

from msgspec import Struct

from colbench.pages.render import Block, Render

SCREEN = 720
"""Height of a window in pixels."""
MOST_BLOCKS = 400
"""Maximum number of blocks of a page that are compared; if a page has more, the largest blocks are used."""
_OVERLAP = 0.3
"""Minimum vertical overlap of blocks that are side by side, as a share of the smaller height."""


class Page(Struct, frozen=True, kw_only=True, dict=True):
    """One rendered page."""

    width: int
    height: int
    background: str
    bands: tuple[tuple[Block, ...], ...]
    """The page's contents from top to bottom; blocks side by side are in one band, in reading order."""
    areas: tuple[Block, ...]
    backdrops: tuple[Block, ...]
    """Pictures with texts on them."""

    @cached_property
    def content(self) -> tuple[Block, ...]:
        """All blocks except areas and backdrops."""
        return tuple(block for band in self.bands for block in band)

    @cached_property
    def texts(self) -> frozenset[str]:
        """All texts on the page, without the `alt` texts of pictures."""
        return frozenset(block.text for block in self.content if block.kind != "picture")

    @cached_property
    def title(self) -> Block | None:
        """The largest heading, or the first of several equally large headings; None if the page has no heading."""
        headings = [block for block in self.content if block.kind == "heading"]
        return max(headings, key=lambda block: block.font_size, default=None)

    @cached_property
    def last(self) -> Block | None:
        """The last band's block, such as a footer, if it is a text and the band has no other block; otherwise None."""
        end = self.bands[-1] if self.bands else ()
        return end[0] if len(end) == 1 and end[0].kind == "text" else None

    def behind(self, block: Block) -> Block | None:
        """Return the smallest area that contains the middle of a block and is larger than the block; else None."""
        return min((area for area in self.areas if holds(area, block)), key=area_of, default=None)


def take_in(render: Render) -> Page:
    """Return the page that was rendered, with its blocks sorted into bands, areas and backdrops."""
    blocks = render.blocks
    if len(blocks) > MOST_BLOCKS:
        largest = sorted(range(len(blocks)), key=lambda at: (-area_of(blocks[at]), at))
        blocks = tuple(blocks[at] for at in sorted(largest[:MOST_BLOCKS]))
    texts = [block for block in blocks if block.kind not in ("box", "picture")]
    backdrops = tuple(
        block
        for block in blocks
        if block.kind == "picture" and any(holds(block, text) for text in texts)
    )
    return Page(
        width=render.width,
        height=render.height,
        background=render.background,
        bands=_bands([block for block in blocks if block.kind != "box" and block not in backdrops]),
        areas=tuple(block for block in blocks if block.kind == "box"),
        backdrops=backdrops,
    )


def _bands(blocks: Iterable[Block]) -> tuple[tuple[Block, ...], ...]:
    bands: list[list[Block]] = []
    bottom = 0.0
    for block in sorted(blocks, key=lambda block: (block.y, block.x)):
        if bands and bottom - block.y > _OVERLAP * min(block.height, bottom - bands[-1][0].y):
            bands[-1].append(block)
        else:
            bands.append([block])
            bottom = 0.0
        bottom = max(bottom, block.y + block.height)
    return tuple(tuple(sorted(band, key=_reading)) for band in bands)


def _reading(block: Block) -> tuple[int, int]:
    """Return a sort key for reading order: by rows of 24 pixels (of the block's middle), then from left to right."""
    return (round((block.y + block.height / 2) / 24), block.x)


def holds(area: Block, block: Block) -> bool:
    """Return True if the area contains the middle of the block and is larger than the block."""
    x, y = middle(block)
    inside = area.x <= x <= area.x + area.width and area.y <= y <= area.y + area.height
    return inside and block is not area and area_of(area) > area_of(block)


def middle(block: Block) -> tuple[float, float]:
    """Return the center of a block, in pixels."""
    return block.x + block.width / 2, block.y + block.height / 2


def area_of(block: Block) -> int:
    """Return the area of a block in square pixels."""
    return block.width * block.height


def weight(block: Block, page: Page) -> float:
    """Return how much a block attracts the eye, 0 to 1: about the square root of the block's share of a window."""
    share = area_of(block) / (max(1, page.width) * SCREEN)
    louder = 1.3 if block.kind == "heading" else 1.0
    return min(1.0, math.sqrt(share) * louder)
