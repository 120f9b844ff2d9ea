"""Differences between matched blocks: words, colors, sizes."""

from __future__ import annotations

import math
from collections.abc import Iterator

from colbench.domains.frontend.human.areas import JUST_SEEN, shade
from colbench.domains.frontend.human.colors import distance
from colbench.domains.frontend.human.match import Pair, similarity
from colbench.domains.frontend.human.page import weight
from colbench.domains.frontend.human.scene import Difference, Scene, identify
from colbench.domains.frontend.human.words import KINDS, quote, roughly

_STRIKING = 40.0
_TEXT_SEEN = 5.0
_LARGER = 1.06
_MUCH_LARGER = 1.6
_SAME_SIZE = 0.06
"""Maximum unnoticed difference in a picture's width or height, as a share; fields and buttons may differ by more."""
_SAME_FIELD = 0.3
_BEFORE = 2
"""Number of words that are quoted before a difference."""


def look_differences(scene: Scene) -> Iterator[Difference]:
    """Yield the differences in looks between matching blocks: first in bands, then moved blocks, then backdrops."""
    matching = scene.matching
    for at, band in enumerate((*matching.bands, matching.moved, matching.backdrops)):
        for pair in band:
            if "picture" not in (pair.theirs.kind, pair.mine.kind):
                yield from _words(pair, scene)
                yield from _colors(pair, scene, at)
                yield from _letters(pair, scene, at)
            yield from _measures(pair, scene)


def _words(pair: Pair, scene: Scene) -> Iterator[Difference]:
    theirs, mine = pair.theirs.text, pair.mine.text
    if theirs == mine or not theirs:
        return
    said = f"should say {quote(theirs)}"
    if quote(theirs) == quote(mine):
        said = _further_on(theirs, mine)
    much = 1 - similarity(theirs, mine)
    yield Difference(
        severity=0.06 + (0.2 + 0.9 * much) * (0.25 + 1.3 * weight(pair.theirs, scene.theirs)),
        sentence=f"The {scene.called(pair.mine)} {said}.",
        aspect="words",
        subjects=identify(pair.theirs),
        rewords=mine,
        about=mine,
    )


def _further_on(theirs: str, mine: str) -> str:
    """Describe how two long texts with a common prefix differ; a quote starts two words before the difference."""
    words, others = theirs.split(), mine.split()
    alike = next((n for n, (a, b) in enumerate(zip(words, others, strict=False)) if a != b), None)
    if alike is None and len(words) <= len(others):
        less = len(others) - len(words)
        return f"should be shorter, by about {less} word{'s' * (less != 1)}"
    at = min(len(words), len(others)) if alike is None else alike
    return "should say " + quote(f"…{' '.join(words[max(0, at - _BEFORE) :])}")


def _colors(pair: Pair, scene: Scene, band: int) -> Iterator[Difference]:
    theirs, mine = pair.theirs, pair.mine
    loud = 0.12 + weight(mine, scene.mine)
    apart = distance(theirs.color, mine.color)
    if apart > _TEXT_SEEN and theirs.text and mine.text:
        yield Difference(
            severity=min(1.0, apart / _STRIKING) * loud,
            sentence=f"The {scene.called(mine)} should be {shade(theirs.color, mine.color)}.",
            aspect="color",
            subjects=identify(theirs),
            group=f"color {band} {theirs.color} {mine.color}",
            about=mine.text,
        )
    own = {"button", "input"} & {theirs.kind, mine.kind}
    apart = distance(theirs.background, mine.background)
    if own and apart > JUST_SEEN:
        color = shade(theirs.background, mine.background)
        yield Difference(
            severity=min(1.0, apart / _STRIKING) * (0.1 + loud),
            sentence=f"The background of the {scene.called(mine)} should be {color}.",
            aspect="background",
            subjects=identify(theirs),
            group=f"ground {band} {theirs.background} {mine.background}",
            about=mine.text,
        )


def _letters(pair: Pair, scene: Scene, band: int) -> Iterator[Difference]:
    theirs, mine = pair.theirs, pair.mine
    if not theirs.text or not mine.text:
        return
    larger = theirs.font_size / max(1.0, mine.font_size)
    much = max(larger, 1 / larger) if larger else 1.0
    if much > _LARGER:
        how = "much " * (much >= _MUCH_LARGER) + ("larger" if larger > 1 else "smaller")
        yield Difference(
            severity=min(1.0, math.log(much) / 0.7) * (0.15 + weight(mine, scene.mine)),
            sentence=f"The {scene.called(mine)} should be {how}.",
            aspect="size",
            subjects=identify(theirs),
            group=f"size {band} {theirs.font_size} {mine.font_size}",
            about=mine.text,
        )
    if theirs.bold != mine.bold:
        how = "be bold" if theirs.bold else "not be bold"
        yield Difference(
            severity=0.06 + 0.2 * weight(mine, scene.mine),
            sentence=f"The text of the {scene.called(mine)} should {how}.",
            aspect="bold",
            subjects=identify(theirs),
            group=f"bold {band} {theirs.bold}",
            about=mine.text,
        )


def _measures(pair: Pair, scene: Scene) -> Iterator[Difference]:
    """Yield the difference between the sizes of paired blocks, if the difference is noticeable.

    Only pictures, fields and buttons are compared, and buttons only if their texts and font sizes are equal.
    """
    theirs, mine = pair.theirs, pair.mine
    if theirs.kind != mine.kind or theirs.kind not in ("picture", "input", "button"):
        return
    if theirs.kind == "button" and (theirs.text != mine.text or theirs.font_size != mine.font_size):
        return
    least = _SAME_SIZE if theirs.kind == "picture" else _SAME_FIELD
    ratios = (
        abs(math.log((theirs.width + 1) / (mine.width + 1))),
        abs(math.log((theirs.height + 1) / (mine.height + 1))),
    )
    if max(ratios) > least:
        louder = max(weight(theirs, scene.theirs), weight(mine, scene.mine))
        yield Difference(
            severity=min(1.0, sum(ratios)) * (0.12 + louder),
            sentence=(
                f"The {scene.called(mine)} should be about {roughly(theirs.width)} by "
                f"{roughly(theirs.height)} pixels."
            ),
            aspect="size",
            subjects=identify(theirs),
            about=mine.text if mine.kind in KINDS and mine.kind != "picture" else "",
        )
