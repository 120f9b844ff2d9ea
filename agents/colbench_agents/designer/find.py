"""Finding the thing on the page that the human refers to."""

from __future__ import annotations

from colbench.pages.render import BlockKind
from colbench_agents.designer.page import WIDTH, Page, Thing
from colbench_agents.designer.wishes import Place

WRONG_SIDE = 400
"""Pixels to add to the distance of a thing that is not on the named side of its neighbor."""


def by_text(page: Page, text: str, kind: BlockKind | None = None) -> Thing | None:
    """Return the thing whose text equals the quoted text or begins with it; None if no text fits.

    A text that only begins with the quoted text counts only if the quoted text has more than 20 characters or ends in
    `…`. Things with an equal text are preferred to all others. Among things that fit equally well, a thing of the kind
    `kind` is preferred.
    """
    ranked = [(_fit(thing, text, kind), thing) for thing in page.contents]
    rank, best = max(ranked, key=lambda pair: pair[0], default=(0, None))
    return best if rank > 0 else None


def by_place(page: Page, kind: BlockKind, place: Place) -> Thing | None:
    """Return the thing of a kind, such as a picture, that is nearest to a place; None if the page has no such thing."""
    candidates = [thing for thing in page.things if thing.kind == kind]
    anchor = by_text(page, place.anchor) if place.anchor else None
    if anchor:
        return min(candidates, key=lambda one: _beside(one, anchor, place.relation), default=None)
    x, y = spot(page, place.spot)

    def distance(one: Thing) -> float:
        return abs(one.middle[0] - x) + abs(one.middle[1] - y)

    return min(candidates, key=distance, default=None)


def spot(page: Page, words: str) -> tuple[float, float]:
    """Return the x and y of a spot such as "top left": the center of one of nine parts of the page, in pixels."""
    x = WIDTH * (1 if "left" in words else 5 if "right" in words else 3) / 6
    y = page.height * (1 if "top" in words else 5 if "bottom" in words else 3) / 6
    return x, y


def zone(page: Page, thing: Thing) -> str:
    """Return `top`, `middle` or `bottom` for a thing's position on the page, as a person would say."""
    edge, y = max(120, 0.2 * page.height), thing.middle[1]
    return "top" if y < edge else "bottom" if y > page.height - edge else "middle"


def _fit(thing: Thing, text: str, kind: BlockKind | None) -> int:
    said, shown = _plain(text.rstrip("…")), _plain(thing.text)
    if not said or not shown:
        return 0
    same = shown == said
    begins = shown.startswith(said) and (len(said) > 20 or text.endswith("…"))
    return (4 if same else 2 if begins else 0) + (thing.kind == kind if same or begins else 0)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _beside(thing: Thing, anchor: Thing, relation: str) -> float:
    """Return the distance of a thing from an anchor, increased if the thing is on the wrong side."""
    (x, y), (anchor_x, anchor_y) = thing.middle, anchor.middle
    right = {
        "below": y > anchor_y,
        "above": y < anchor_y,
        "right": x > anchor_x,
        "left": x < anchor_x,
    }[relation]
    return abs(x - anchor_x) + abs(y - anchor_y) + (0 if right else WRONG_SIDE)
