"""Differences in the backgrounds of the page, of its parts, and of areas without content."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

from colbench.domains.frontend.human.colors import distance, name
from colbench.domains.frontend.human.match import Pair
from colbench.domains.frontend.human.page import SCREEN, Page, area_of, holds, middle, weight
from colbench.domains.frontend.human.places import vertical
from colbench.domains.frontend.human.scene import PAGE, Difference, Scene, identify
from colbench.domains.frontend.human.things import wanted
from colbench.domains.frontend.human.words import quote
from colbench.pages.render import Block

JUST_SEEN = 2.5
"""Minimum color distance that a person notices between two colors side by side."""
_STRIKING = 30.0
_OWN_GROUND = ("button", "input", "picture")
_WIDE = 0.5
"""Minimum width, as a share of the page's width, of an area that is named by its position, as in "the top part"."""
_BAND_HEIGHT = 60
_SAME_AREA = 0.4


def area_differences(scene: Scene) -> Iterator[Difference]:
    """Yield differences in the page's background, in the backgrounds of texts, and in areas without content."""
    theirs, mine = scene.theirs, scene.mine
    apart = distance(theirs.background, mine.background)
    if apart > JUST_SEEN:
        yield Difference(
            severity=0.1 + 0.9 * min(1.0, apart / _STRIKING),
            sentence=f"The background of the page should be {shade(theirs.background, mine.background)}.",
            aspect="background",
            subjects=PAGE,
        )
    for pair in scene.matching.pairs:
        if pair.theirs.kind not in _OWN_GROUND and pair.mine.kind not in _OWN_GROUND:
            yield from _behind(pair, scene)
    yield from _empty_areas(scene)


def shade(theirs: str, mine: str) -> str:
    """Return the name of the color `theirs`.

    If `mine` has the same name, return `a little lighter` or `a little darker` instead.
    """
    if name(theirs) != name(mine):
        return name(theirs)
    return f"a little {'lighter' if _light(theirs) > _light(mine) else 'darker'}"


def _light(color: str) -> int:
    return 3 * int(color[1:3], 16) + 6 * int(color[3:5], 16) + int(color[5:7], 16)


def _behind(pair: Pair, scene: Scene) -> Iterator[Difference]:
    theirs, mine = pair.theirs, pair.mine
    apart = distance(theirs.background, mine.background)
    if apart <= JUST_SEEN or _as_the_page(pair, scene) or _on_picture(pair, scene):
        return
    area = scene.theirs.behind(theirs) or scene.mine.behind(mine)
    spread = area_of(area) if area else scene.mine.width * _BAND_HEIGHT
    color = shade(theirs.background, mine.background)
    if area and area.width < _WIDE * scene.mine.width:
        said = f"The background of the {scene.called(mine)} should be {color}."
    else:
        part = vertical(middle(mine)[1], scene.mine)
        said = f"The background of the {part} part (behind {quote(mine.text)}) should be {color}."
    yield Difference(
        severity=min(1.0, apart / _STRIKING) * (0.15 + 0.9 * _share(spread, scene.mine)),
        sentence=said,
        aspect="background",
        subjects=identify(theirs),
        group=f"behind {area and (area.x, area.y)} {theirs.background} {mine.background}",
        about=mine.text,
    )


def _as_the_page(pair: Pair, scene: Scene) -> bool:
    """Return True if both blocks have their page's background color; the colors of the pages are compared elsewhere."""
    return (
        pair.theirs.background == scene.theirs.background
        and pair.mine.background == scene.mine.background
    )


def _on_picture(pair: Pair, scene: Scene) -> bool:
    return any(holds(backdrop, pair.theirs) for backdrop in scene.theirs.backdrops) or any(
        holds(backdrop, pair.mine) for backdrop in scene.mine.backdrops
    )


def _share(area: float, page: Page) -> float:
    """Return the square root of the area's share of a window, at most 1."""
    return min(1.0, sqrt(area / (max(1, page.width) * SCREEN)))


def _empty_areas(scene: Scene) -> Iterator[Difference]:
    """Yield the differences between the empty areas of both pages, including areas that only one page has."""
    mine = list(scene.mine.areas)
    for area in scene.theirs.areas:
        near = max(mine, key=lambda other: _overlap(area, other), default=None)
        found = near is not None and _overlap(area, near) >= _SAME_AREA
        if near and found:
            mine.remove(near)
            if _is_empty(area, scene.theirs):
                yield from _area_looks(area, near, scene)
        elif _is_empty(area, scene.theirs):
            yield from wanted([area], scene.theirs, scene.wanted_place)
    for area in mine:
        if _is_empty(area, scene.mine):
            yield Difference(
                severity=0.1 + 0.8 * weight(area, scene.mine),
                sentence=f"I did not ask for the area {scene.place(area)}.",
                aspect="surplus",
                subjects=identify(area),
            )


def _area_looks(theirs: Block, mine: Block, scene: Scene) -> Iterator[Difference]:
    apart = distance(theirs.background, mine.background)
    if apart > JUST_SEEN:
        yield Difference(
            severity=min(1.0, apart / _STRIKING) * (0.1 + weight(mine, scene.mine)),
            sentence=(
                f"The background of the area {scene.place(mine)} should be "
                f"{shade(theirs.background, mine.background)}."
            ),
            aspect="background",
            subjects=identify(theirs),
        )


def _is_empty(area: Block, page: Page) -> bool:
    return not any(holds(area, block) for block in (*page.content, *page.backdrops, *page.areas))


def _overlap(one: Block, other: Block) -> float:
    """Return how well two blocks agree in horizontal extent, height and vertical position, 0 to 1."""
    width = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
    apart = abs(one.y - other.y) / 2000
    tall = min(one.height, other.height) / max(1, one.height, other.height)
    return max(0.0, width) / max(1, one.width, other.width) * tall * max(0.0, 1 - apart)
