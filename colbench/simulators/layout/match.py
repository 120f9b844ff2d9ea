"""Which block of the agent's page stands for which block of the target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from msgspec import Struct

from colbench.pages.render import Block
from colbench.simulators.layout.page import Page, area_of, middle

Band = tuple[Block, ...]

SAME_TEXT = 0.75
"""From here on two texts are the same one, changed a little."""
_UNRELATED = 0.25
"""Similarity that two texts have by chance."""
_SAME_PLACE = 0.45
_BAND_ENOUGH = 0.2
_CHARS = 300
_ALIKE = {
    frozenset(("heading", "text")): 0.5,
    frozenset(("link", "button")): 0.7,
    frozenset(("link", "text")): 0.7,
    frozenset(("button", "text")): 0.4,
    frozenset(("link", "heading")): 0.4,
}


class Pair(Struct, frozen=True, kw_only=True):
    """Two blocks that stand for one another."""

    theirs: Block
    """The target's."""
    mine: Block
    """The agent's."""


class Matching(Struct, frozen=True, kw_only=True):
    """What became of each block."""

    bands: tuple[tuple[Pair, ...], ...]
    """Pairs by bands of the target, from top to bottom; a band without pairs is empty."""
    moved: tuple[Pair, ...]
    """The same text in quite another place."""
    missing: tuple[Block, ...]
    surplus: tuple[Block, ...]

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """All of them."""
        return tuple(pair for band in self.bands for pair in band) + self.moved


def match(target: Page, made: Page) -> Matching:
    """Bands are aligned from top to bottom, blocks paired within aligned bands; then what is left by its text."""
    partner = dict(_align(target, made))
    bands: list[tuple[Pair, ...]] = []
    for at, band in enumerate(target.bands):
        other = made.bands[partner[at]] if at in partner else ()
        bands.append(tuple(_pairs(band, other, target, made)))
    found = [pair for band in bands for pair in band]
    left = _without(target.content, (pair.theirs for pair in found))
    free = _without(made.content, (pair.mine for pair in found))
    moved, again = _moved(left, free, target, made)
    by_band = [
        tuple(p for p in again if any(p.theirs is block for block in band)) for band in target.bands
    ]
    taken = (*found, *moved, *again)
    return Matching(
        bands=tuple(one + more for one, more in zip(bands, by_band, strict=True)),
        moved=tuple(moved),
        missing=_without(target.content, (pair.theirs for pair in taken)),
        surplus=_without(made.content, (pair.mine for pair in taken)),
    )


def similarity(one: str, other: str) -> float:
    """Of two texts, 0 to 1: Dice's coefficient over pairs of letters (Dice 1945)."""
    if one == other:
        return 1.0
    first, second = _pairs_of_letters(one[:_CHARS]), _pairs_of_letters(other[:_CHARS])
    total = first.total() + second.total()
    return min(0.99, 2 * (first & second).total() / total) if total else 0.0


@lru_cache(maxsize=8192)
def _pairs_of_letters(text: str) -> Counter[str]:
    text = f" {' '.join(text.lower().split())} "
    return Counter(text[at : at + 2] for at in range(len(text) - 1))


def _align(target: Page, made: Page) -> list[tuple[int, int]]:
    """The pairs of bands, in order, that agree best in total (Needleman and Wunsch 1970)."""
    rows, columns = len(target.bands), len(made.bands)
    gain = [[_agreement(a, b, target, made) for b in made.bands] for a in target.bands]
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            both = best[i + 1][j + 1] + gain[i][j] if gain[i][j] >= _BAND_ENOUGH else 0.0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], both)
    aligned, i, j = [], 0, 0
    while i < rows and j < columns:
        if gain[i][j] >= _BAND_ENOUGH and best[i][j] == best[i + 1][j + 1] + gain[i][j]:
            aligned.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return aligned


def _agreement(theirs: Band, mine: Band, target: Page, made: Page) -> float:
    """How well two bands agree: their blocks' best scores; a little more if they are equally far down."""
    best = [max((_score(a, b, target, made) for b in mine), default=0.0) for a in theirs]
    size = max(len(theirs), len(mine))
    down = abs(theirs[0].y / max(1, target.height) - mine[0].y / max(1, made.height))
    same = sum(any(a.text and a.text == b.text for b in mine) for a in theirs)
    return (sum(best) + same) / size * (1 - 0.3 * down)


def _score(theirs: Block, mine: Block, target: Page, made: Page) -> float:
    """How well two blocks stand for one another, 0 to 1; 0 if they cannot."""
    kinds = (
        1.0 if theirs.kind == mine.kind else _ALIKE.get(frozenset((theirs.kind, mine.kind)), 0.0)
    )
    beside = _beside(theirs, mine, target, made)
    sizes = min(area_of(theirs), area_of(mine)) / max(1, area_of(theirs), area_of(mine))
    if "picture" in (theirs.kind, mine.kind) or not theirs.text or not mine.text:
        return kinds * (0.4 + 0.3 * beside + 0.3 * sizes) if kinds == 1.0 else 0.0
    texts = similarity(theirs.text, mine.text)
    if texts >= SAME_TEXT:
        return 0.7 + 0.3 * texts * (0.5 + 0.25 * kinds + 0.25 * beside)
    told = max(0.0, (texts - _UNRELATED) / (1 - _UNRELATED))
    role = (theirs, mine) in ((target.title, made.title), (target.last, made.last))
    return kinds * min(1.0, 0.45 * told + 0.3 * beside + 0.1 * sizes + 0.1 * kinds + 0.2 * role)


def _beside(theirs: Block, mine: Block, target: Page, made: Page) -> float:
    """How near they are across the page, by their left edges, middles or right edges; 0 to 1."""
    a, b = theirs.x / target.width, mine.x / made.width
    c, d = (theirs.x + theirs.width) / target.width, (mine.x + mine.width) / made.width
    return max(0.0, 1 - 2 * min(abs(a - b), abs(c - d), abs(a + c - b - d) / 2))


def _pairs(theirs: Band, mine: Band, target: Page, made: Page) -> list[Pair]:
    """The best pairs first; each block once. Of texts that are there several times the first goes with the first."""
    scored = sorted(
        (_nth(theirs, i) != _nth(mine, j), -_score(a, b, target, made), abs(i - j), i, j)
        for i, a in enumerate(theirs)
        for j, b in enumerate(mine)
    )
    pairs, rows, columns = [], set(), set()
    for _, score, _, i, j in scored:
        if -score >= _SAME_PLACE and i not in rows and j not in columns:
            rows.add(i)
            columns.add(j)
            pairs.append((i, Pair(theirs=theirs[i], mine=mine[j])))
    return [pair for _, pair in sorted(pairs, key=lambda found: found[0])]


def _nth(band: Band, at: int) -> tuple[str, int]:
    """Its text, and how many before it in the band have the same."""
    text = band[at].text
    return text, sum(block.text == text for block in band[:at])


def _moved(
    left: Sequence[Block], free: Sequence[Block], target: Page, made: Page
) -> tuple[list[Pair], list[Pair]]:
    """Texts and pictures found elsewhere: in another order, and in what is about the same place after all."""
    scored = sorted(
        (-_score(a, b, target, made), abs(middle(a)[1] - middle(b)[1]), i, j)
        for i, a in enumerate(left)
        for j, b in enumerate(free)
        if (a.text and similarity(a.text, b.text) >= SAME_TEXT and a.kind != "picture")
        or a.kind == b.kind == "picture"
    )
    moved: list[Pair] = []
    near: list[Pair] = []
    rows, columns = set(), set()
    for _, down, i, j in scored:
        if i not in rows and j not in columns:
            rows.add(i)
            columns.add(j)
            pair = Pair(theirs=left[i], mine=free[j])
            (near if down < max(pair.theirs.height, pair.mine.height) else moved).append(pair)
    return moved, near


def _without(blocks: Iterable[Block], taken: Iterable[Block]) -> tuple[Block, ...]:
    gone = {id(block) for block in taken}
    return tuple(block for block in blocks if id(block) not in gone)
