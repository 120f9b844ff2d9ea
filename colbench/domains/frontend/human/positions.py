"""Differences in position: moved blocks, different alignment, and different gaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from colbench.domains.frontend.human.match import Pair
from colbench.domains.frontend.human.page import Page, weight
from colbench.domains.frontend.human.places import spot
from colbench.domains.frontend.human.scene import Difference, Scene, identify
from colbench.domains.frontend.human.words import roughly
from colbench.pages.render import Block

_SEEN = 10
"""Offset in pixels above which a person notices that a block is displaced."""
_FAR = 300.0
_CENTRED = 0.02
_NARROW = 0.9
_ALIGNED = {"center": "centred", "left": "left-aligned", "right": "right-aligned"}


def position_differences(scene: Scene) -> Iterator[Difference]:
    """Yield differences in the positions of paired blocks: moved blocks, horizontal alignment, gaps between bands."""
    for pair in scene.matching.moved:
        yield _difference(scene, pair, scene.wanted_place(pair.theirs), _FAR, "")
    for at, band in enumerate(scene.matching.bands):
        if _whole(scene, at, band):
            yield from _across(scene, band, at)
            yield from _within(scene, band, at)
    yield from _gaps(scene)


def _whole(scene: Scene, at: int, band: Sequence[Pair]) -> bool:
    """Return True if no missing or surplus block could have moved the other blocks of a band."""
    missing = {id(block) for block in scene.matching.missing}
    top = min((pair.mine.y for pair in band), default=0)
    bottom = max((pair.mine.y + pair.mine.height for pair in band), default=0)
    return not any(id(block) in missing for block in scene.theirs.bands[at]) and not any(
        block.y < bottom and block.y + block.height > top for block in scene.matching.surplus
    )


def _across(scene: Scene, band: Sequence[Pair], at: int) -> Iterator[Difference]:
    for pair in band:
        theirs, mine = pair.theirs, pair.mine
        shift = _shift(theirs, mine, scene)
        lines = min(theirs.height, mine.height) > 1.7 * theirs.font_size
        if abs(shift) <= _SEEN:
            if theirs.align != mine.align and lines and theirs.text:
                yield _difference(
                    scene, pair, _ALIGNED[theirs.align], 80, f"align {at} {theirs.align}"
                )
            continue
        how = _alignment(theirs, scene.theirs)
        if how and how != _alignment(mine, scene.mine):
            yield _difference(scene, pair, how, abs(shift), f"align {at} {how}")
            continue
        side = "right" if shift > 0 else "left"
        if abs(shift) > _FAR:
            yield _difference(
                scene, pair, spot(theirs, scene.theirs), abs(shift), f"across {at} {side}"
            )
            continue
        words = f"further to the {side}, by about {roughly(shift)} pixels"
        yield _difference(scene, pair, words, abs(shift), f"across {at} {side}")


def _shift(theirs: Block, mine: Block, scene: Scene) -> float:
    """Return how many pixels to the right a block should move.

    This is the offset of the block's left edge, right edge or middle, whichever offset is closest to 0.
    """
    scale = scene.mine.width / scene.theirs.width
    left, right = theirs.x * scale - mine.x, (theirs.x + theirs.width) * scale - mine.x - mine.width
    return min((left, right, (left + right) / 2), key=abs)


def _alignment(block: Block, page: Page) -> str:
    """Return how a narrow block is aligned on the page, such as `centred`; "" if it is wide or not aligned."""
    if block.width > _NARROW * page.width:
        return ""
    left, right = block.x, page.width - block.x - block.width
    if abs(left - right) <= 2 * _CENTRED * page.width:
        return "centred"
    if left <= 0.04 * page.width:
        return "left-aligned"
    return "right-aligned" if right <= 0.04 * page.width else ""


def _within(scene: Scene, band: Sequence[Pair], at: int) -> Iterator[Difference]:
    """Yield a difference for each block that should move up or down relative to the other blocks of its band."""
    if len(band) < 2:
        return
    whole = median(_rise(pair) for pair in band)
    for pair in band:
        tops = (
            pair.theirs.y - pair.mine.y,
            pair.theirs.y + pair.theirs.height - pair.mine.y - pair.mine.height,
        )
        off = min((*(top - whole for top in tops), sum(tops) / 2 - whole), key=abs)
        if abs(off) > _SEEN:
            yield _down(scene, pair, off, f"down {at} {off > 0}")


def _rise(pair: Pair) -> float:
    return (pair.theirs.y + pair.theirs.height / 2) - (pair.mine.y + pair.mine.height / 2)


def _gaps(scene: Scene) -> Iterator[Difference]:
    """Yield a difference for each wrong distance between bands that no missing or surplus block explains."""
    above_theirs = above_mine = 0
    clean = True
    missing = {id(block) for block in scene.matching.missing}
    for blocks, band in zip(scene.theirs.bands, scene.matching.bands, strict=True):
        whole = not any(id(block) in missing for block in blocks)
        if not band:
            clean = False
            continue
        top_theirs = min(pair.theirs.y for pair in band)
        top_mine = min(pair.mine.y for pair in band)
        off = (top_theirs - above_theirs) - (top_mine - above_mine)
        between = any(above_mine - 4 <= block.y < top_mine for block in scene.matching.surplus)
        if clean and whole and not between and abs(off) > _SEEN:
            first = min(band, key=lambda pair: pair.mine.y)
            yield _down(scene, first, off, "")
        clean = whole
        above_theirs = max(pair.theirs.y + pair.theirs.height for pair in band)
        above_mine = max(pair.mine.y + pair.mine.height for pair in band)


def _down(scene: Scene, pair: Pair, off: float, group: str) -> Difference:
    if abs(off) > _FAR:
        return _difference(scene, pair, scene.wanted_place(pair.theirs), abs(off), group)
    way = "down" if off > 0 else "up"
    return _difference(
        scene, pair, f"further {way}, by about {roughly(off)} pixels", abs(off), group
    )


def _difference(scene: Scene, pair: Pair, words: str, off: float, group: str) -> Difference:
    return Difference(
        severity=0.02 + 0.6 * min(1.0, off / _FAR) * (0.15 + weight(pair.mine, scene.mine)),
        sentence=f"The {scene.called(pair.mine)} should be {words}.",
        aspect="place",
        subjects=identify(pair.theirs),
        group=group,
        about=pair.mine.text,
    )
