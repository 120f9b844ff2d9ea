"""Blocks that are missing on the agent's page, and blocks that should not be there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import inf

from colbench.domains.frontend.human.colors import distance, name
from colbench.domains.frontend.human.page import Page, holds, middle, weight
from colbench.domains.frontend.human.scene import Difference, Scene, identify
from colbench.domains.frontend.human.words import KINDS, quote, size
from colbench.pages.render import Block

MOST_IN_ROW = 6
_PLURALS = {"link": "links", "button": "buttons", "text": "texts"}
_FIRST = 0.05
"""Severity added for a missing block: this value at the top of the page, less further down, 0 at the bottom."""
_FEW = 3
_SHORT = 30
"""Maximum number of characters of a text that can be part of a row."""
_CLOSE = 40
_SEEN = 5.0
_DARK = 25.0
_MISSING, _ROW, _SURPLUS = 0.25, 0.2, 0.12
"""Base severity of a missing block, the addition for a row or a heading, and base severity of a surplus block."""

Where = Callable[[Block], str]


def missing(scene: Scene) -> Iterator[Difference]:
    """Yield a difference for each block, or row of blocks, on the target that the agent's page lacks."""
    yield from wanted(scene.matching.missing, scene.theirs, scene.wanted_place)


def surplus(scene: Scene) -> Iterator[Difference]:
    """Yield a difference for each block on the agent's page that the target lacks.

    The sentence about a paragraph names the surplus heading above the paragraph, if such a heading exists.
    """
    headings = [block for block in scene.matching.surplus if block.kind == "heading"]
    for block in scene.matching.surplus:
        heading = block if block.kind == "heading" else _heading_of(block, headings)
        yield Difference(
            severity=_SURPLUS + weight(block, scene.mine),
            sentence=f"I did not ask for the {scene.called(heading or block)}.",
            aspect="surplus",
            subjects=frozenset({f"{block.kind} {block.text or scene.place(block)}"}),
        )


def wanted(blocks: Sequence[Block], page: Page, where: Where) -> Iterator[Difference]:
    """Yield differences that ask the agent for these missing blocks; the blocks of a row share one difference.

    `where` returns the description of a block's position.
    """
    for group in _groups(blocks):
        together = sum(weight(block, page) for block in group)
        several = len(group) > 1 or group[0].kind == "heading"
        high = _FIRST * (1 - group[0].y / max(1, page.height))
        yield Difference(
            severity=_MISSING + _ROW * several + 1.2 * together + high,
            sentence=f"There should be {_what(group, page, where)}.",
            aspect="missing",
            subjects=identify(*group),
        )


def _heading_of(block: Block, headings: Sequence[Block]) -> Block | None:
    """Return the heading directly above a paragraph and aligned with it; None if the paragraph has no such heading."""
    above = [
        heading
        for heading in headings
        if block.kind == "text"
        and -8 <= block.y - heading.y - heading.height < _CLOSE
        and abs(block.x - heading.x) < _CLOSE
    ]
    return above[-1] if above else None


def _groups(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Yield the blocks in groups: a row of links, buttons, short texts or column headings, or else a single block."""
    gone: set[int] = set()
    for block in blocks:
        if id(block) in gone:
            continue
        group = [other for other in blocks if other is block or _in_row(block, other)]
        gone.update(map(id, group))
        yield from _parted(sorted(group, key=lambda one: one.x))


def _parted(row: list[Block]) -> Iterator[list[Block]]:
    """Yield the parts of a row, split at gaps far above the median gap; a row of up to `_FEW` blocks is not split."""
    gaps = [right.x - left.x - left.width for left, right in pairwise(row)]
    widest = 20 + 3 * sorted(gaps)[len(gaps) // 2] if len(row) > _FEW else inf
    start = 0
    for at, gap in enumerate(gaps, start=1):
        if gap > widest:
            yield row[start:at]
            start = at
    yield row[start:]


def _in_row(block: Block, other: Block) -> bool:
    if block.kind != other.kind or abs(middle(block)[1] - middle(other)[1]) > 12:
        return False
    alike = block.background == other.background and abs(block.font_size - other.font_size) < 2
    apart = block.x >= other.x + other.width or other.x >= block.x + block.width
    if block.kind == "text" and max(len(block.text), len(other.text)) > _SHORT:
        return False
    texts = bool(block.text and other.text)
    return apart and alike and texts and block.kind in ("link", "button", "text", "heading")


def _what(group: Sequence[Block], page: Page, where: Where) -> str:
    first = group[0]
    if len(group) == 1:
        return _one(first, page, where)
    texts = ", ".join(quote(block.text) for block in group[:MOST_IN_ROW])
    if first.kind == "heading":
        return (
            f"{len(group)} columns beginning with {texts} {where(_row(group))}{_looks(first, page)}"
        )
    return f"a row of {_PLURALS[first.kind]} {texts} {where(_row(group))}{_looks(first, page)}"


def _one(block: Block, page: Page, where: Where) -> str:
    if block.kind == "picture":
        return f"a picture about {block.width} by {block.height} pixels {where(block)}"
    if block.kind == "box":
        color = name(block.background)
        return f"{article(color)} {color} area about {block.width} by {block.height} pixels {where(block)}"
    if block.kind == "input":
        return f"an input field{' ' + quote(block.text) if block.text else ''} {where(block)}"
    if not block.text:
        return f"a {KINDS[block.kind]} {where(block)}"
    return (
        f"a {KINDS[block.kind]} that says {quote(block.text)} {where(block)}{_looks(block, page)}"
    )


def article(word: str) -> str:
    """Return the article of a word: `a` or `an`."""
    return "an" if word[0] in "aeiou" else "a"


def _row(group: Sequence[Block]) -> Block:
    """Return one block that encloses all blocks of a group."""
    left, top = min(block.x for block in group), min(block.y for block in group)
    right = max(block.x + block.width for block in group)
    bottom = max(block.y + block.height for block in group)
    return Block(kind=group[0].kind, x=left, y=top, width=right - left, height=bottom - top)


def _looks(block: Block, page: Page) -> str:
    """Describe the size and the colors of a block's text if they are unusual."""
    words = size(block) if block.kind != "button" else ""
    own_ground = distance(block.background, page.background) > _SEEN
    if own_ground or distance(block.color, "#000000") > _DARK:
        on_picture = any(holds(backdrop, block) for backdrop in page.backdrops)
        ground = "the picture" if on_picture else name(block.background)
        words += (", " if words else "") + f"{name(block.color)} on {ground}"
    return f", {words}" if words else ""
