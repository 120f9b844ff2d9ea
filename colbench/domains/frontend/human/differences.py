"""Differences between two pages, the most noticeable first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from msgspec.structs import replace

from colbench.domains.frontend.human.areas import area_differences
from colbench.domains.frontend.human.looks import look_differences
from colbench.domains.frontend.human.match import match
from colbench.domains.frontend.human.page import take_in
from colbench.domains.frontend.human.positions import position_differences
from colbench.domains.frontend.human.scene import PAGE, Difference, Scene
from colbench.domains.frontend.human.things import missing, surplus
from colbench.domains.frontend.human.words import roughly
from colbench.pages.render import Render

_SAME_HEIGHT = 0.03
_REST = 0.3
"""Weight of the other differences in a group, relative to the group's most severe difference."""


def differences(target: Render, made: Render) -> list[Difference]:
    """Return the differences that a person would mention, the most noticeable first; empty if the pages look the same.

    Related differences are merged into the first of them. The pages' heights are compared only if nothing else differs.
    """
    theirs, mine = take_in(target), take_in(made)
    scene = Scene(theirs, mine, match(theirs, mine))
    found = chain(
        missing(scene),
        surplus(scene),
        area_differences(scene),
        look_differences(scene),
        position_differences(scene),
    )
    merged = _merged(found) or list(_height(scene))
    return sorted(merged, key=lambda one: -one.severity)


def _merged(found: Iterable[Difference]) -> list[Difference]:
    groups: dict[str, list[Difference]] = {}
    for one in found:
        groups.setdefault(one.group or one.sentence, []).append(one)
    return [_together(group) for group in groups.values()]


def _together(group: list[Difference]) -> Difference:
    weights = [one.severity for one in group]
    return replace(
        group[0],
        severity=max(weights) + _REST * (sum(weights) - max(weights)),
        subjects=frozenset().union(*(one.subjects for one in group)),
    )


def _height(scene: Scene) -> Iterator[Difference]:
    theirs, mine = scene.theirs.height, scene.mine.height
    if abs(theirs - mine) > _SAME_HEIGHT * theirs:
        yield Difference(
            severity=min(0.3, abs(theirs - mine) / theirs),
            sentence=f"The page should be about {roughly(theirs)} pixels tall; it is {roughly(mine)}.",
            aspect="size",
            subjects=PAGE,
        )
