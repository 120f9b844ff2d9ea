"""Where things of the designer's page are, roughly: the designer sees no picture of it."""

from __future__ import annotations

import math

from colbench_agents.designer.page import SIZES, Box, Leaf, Page

WIDTH = 1280
GAP = 16
LETTER = 0.5
"""Width of a letter, as a share of the text's size."""
LINE = 1.4
"""Height of a line, as a share of the text's size."""

Frame = tuple[float, float, float, float]
"""Left, top, width and height in pixels."""


class Layout:
    """The estimated frame of every leaf and box of a page."""

    def __init__(self, page: Page) -> None:
        self._frames: dict[int, Frame] = {}
        top = 0.0
        for band in page.bands:
            top += self._box(band, 0, top, WIDTH)
        self.height = max(top, 720.0)

    def frame(self, thing: Leaf | Box) -> Frame:
        """The frame of something on the page."""
        return self._frames[id(thing)]

    def spot(self, thing: Leaf | Box) -> str:
        """In which of the nine parts of the page its middle is, as `top left` or `middle`."""
        left, top, width, height = self.frame(thing)
        down = _third((top + height / 2) / self.height, ("top", "middle", "bottom"))
        across = _third((left + width / 2) / WIDTH, ("left", "", "right"))
        return f"{down} {across}".strip()

    def _box(self, box: Box, left: float, top: float, width: float) -> float:
        vertical, horizontal = box.padding
        width = box.width or width
        inner, start = width - 2 * horizontal, top + box.above + vertical
        if box.direction == "column":
            height = self._column(box, left + horizontal, start, inner)
        else:
            height = self._row(box, left + horizontal, start, inner)
        total = max(height + 2 * vertical, box.height or 0)
        self._frames[id(box)] = (left, top + box.above, width, total)
        return total + box.above

    def _column(self, box: Box, left: float, top: float, width: float) -> float:
        height = 0.0
        for member in box.children:
            if isinstance(member, Box):
                height += self._box(member, left, top + height, width)
            else:
                height += self._leaf(member, left, top + height, width, member.align or box.align)
        return height

    def _row(self, box: Box, left: float, top: float, width: float) -> float:
        count = len(box.children) or 1
        widths = [_natural(member) for member in box.children]
        if box.direction == "columns":
            widths = [(width - GAP * (count - 1)) / count] * count
        free = max(0.0, width - sum(widths) - GAP * (count - 1))
        gap = GAP + (free / (count - 1) if box.spread and count > 1 else 0)
        if not box.spread:
            left += {"left": 0.0, "center": free / 2, "right": free}[box.align]
        height = 0.0
        for member, own in zip(box.children, widths, strict=True):
            if isinstance(member, Box):
                height = max(height, self._box(member, left, top, own))
            else:
                height = max(height, self._leaf(member, left, top, own, "left"))
            left += own + gap
        return height

    def _leaf(self, leaf: Leaf, left: float, top: float, width: float, align: str) -> float:
        own = min(_natural(leaf), width) if leaf.kind not in ("picture", "box") else _natural(leaf)
        lines = math.ceil(_natural(leaf) / max(width, 1))
        height: float = leaf.height or {"button": 40, "input": 42}.get(leaf.kind, 0)
        height = height or lines * SIZES[leaf.size] * LINE
        free = width - own
        left += {"left": 0.0, "center": free / 2, "right": free}[align] + leaf.right
        self._frames[id(leaf)] = (left, top + leaf.above, own, height)
        return height + leaf.above


def _natural(thing: Leaf | Box) -> float:
    """The width that something takes where there is room."""
    if isinstance(thing, Leaf):
        if thing.width or thing.kind in ("picture", "box"):
            return thing.width or 400
        letters = len(thing.text) * SIZES[thing.size] * LETTER
        return letters + (32 if thing.kind == "button" else 0)
    widths = [_natural(member) for member in thing.children]
    content = (
        max(widths, default=0)
        if thing.direction == "column"
        else sum(widths) + GAP * (len(widths) - 1)
    )
    return thing.width or content + 2 * thing.padding[1]


def _third(share: float, names: tuple[str, str, str]) -> str:
    return names[min(2, max(0, int(share * 3)))]
