"""Which part of the page the human speaks of."""

from __future__ import annotations

from colbench.pages.render import BlockKind
from colbench_agents.designer.measure import Layout
from colbench_agents.designer.page import Box, Leaf, Page, leaves
from colbench_agents.designer.wishes import Place


def by_text(page: Page, text: str, kind: BlockKind | None = None) -> Leaf | None:
    """The leaf that says this, or begins so if the quotation is cut; better one of the kind."""
    ranked = [(_fit(leaf, text, kind), leaf) for leaf in leaves(page)]
    rank, best = max(ranked, key=lambda pair: pair[0], default=(0, None))
    return best if rank > 0 else None


def by_place(page: Page, kind: BlockKind, place: Place) -> Leaf | None:
    """The picture or area that is nearest to a place."""
    candidates = [leaf for leaf in leaves(page) if leaf.kind == kind]
    if not candidates:
        return None
    layout = Layout(page)
    anchor = by_text(page, place.anchor) if place.anchor else None
    if anchor:
        return min(candidates, key=lambda leaf: _beside(layout, leaf, anchor, place.relation))
    wanted = set(place.spot.split())
    return max(candidates, key=lambda leaf: len(wanted & set(layout.spot(leaf).split())))


def band_at(page: Page, spot: str) -> Box | None:
    """The band that covers the top, the middle or the bottom of the page."""
    if not page.bands:
        return None
    if "top" in spot:
        return page.bands[0]
    if "bottom" in spot:
        return page.bands[-1]
    layout = Layout(page)

    def distance(band: Box) -> float:
        _, top, _, height = layout.frame(band)
        return abs(top + height / 2 - layout.height / 2)

    return min(page.bands, key=distance)


def _fit(leaf: Leaf, text: str, kind: BlockKind | None) -> int:
    said, shown = _plain(text.rstrip("…")), _plain(leaf.text)
    if not said or not shown:
        return 0
    same = shown == said
    begins = shown.startswith(said) if len(said) > 20 or text.endswith("…") else False
    return (4 if same else 2 if begins else 0) + (leaf.kind == kind if same or begins else 0)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _beside(layout: Layout, leaf: Leaf, anchor: Leaf, relation: str) -> float:
    """How far a leaf is from an anchor, twice as much on the wrong side of it."""
    x, y = _middle(layout, leaf)
    anchor_x, anchor_y = _middle(layout, anchor)
    right = {
        "below": y > anchor_y,
        "above": y < anchor_y,
        "right": x > anchor_x,
        "left": x < anchor_x,
    }
    return (abs(x - anchor_x) + abs(y - anchor_y)) * (1 if right.get(relation, True) else 2)


def _middle(layout: Layout, leaf: Leaf) -> tuple[float, float]:
    left, top, width, height = layout.frame(leaf)
    return left + width / 2, top + height / 2
