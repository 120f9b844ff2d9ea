"""The matching of the agent's page with the target, block by block.

A band is a group of blocks side by side. A backdrop is a picture with text on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from msgspec import Struct

from colbench.domains.frontend.human.page import Page, area_of
from colbench.pages.render import Block

Band = tuple[Block, ...]

SAME_TEXT = 0.75
"""Minimum similarity of two texts that count as the same text, perhaps slightly changed."""
_UNRELATED = 0.25
"""Similarity that two unrelated texts have by chance."""
_SAME_PLACE = 0.45
_BAND_ENOUGH = 0.2
_NEAR = 100
_SAME_BACKDROP = 250
"""Maximum vertical distance in pixels between matching backdrops."""
_CHARS = 300
_SHORT_WORDS = 8
_ALIKE = {
    frozenset(("heading", "text")): 0.5,
    frozenset(("link", "button")): 0.7,
    frozenset(("link", "text")): 0.7,
    frozenset(("button", "text")): 0.4,
    frozenset(("link", "heading")): 0.4,
}


class Pair(Struct, frozen=True, kw_only=True):
    """Two matched blocks."""

    theirs: Block
    """The block on the target page."""
    mine: Block
    """The block on the agent's page."""


class Matching(Struct, frozen=True, kw_only=True):
    """The pairs of matching blocks of two pages, and the blocks without a match."""

    bands: tuple[tuple[Pair, ...], ...]
    """The pairs of each band of the target, from top to bottom; empty for a band without pairs."""
    moved: tuple[Pair, ...]
    """Pairs of pictures, or of blocks with about the same text, in very different places."""
    backdrops: tuple[Pair, ...]
    """Pairs of pictures; at least one picture of each pair has text on it."""
    missing: tuple[Block, ...]
    surplus: tuple[Block, ...]

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs of all bands, then the moved pairs; the pairs in `backdrops` are not included."""
        return tuple(pair for band in self.bands for pair in band) + self.moved


def match(target: Page, made: Page) -> Matching:
    """Return the matching of two pages.

    Bands are aligned in order, from top to bottom. Then the blocks of aligned bands are paired, next the backdrops, and
    last the remaining blocks: texts by similar words, pictures by size and position.
    """
    partner = dict(_align(target, made))
    bands: list[tuple[Pair, ...]] = []
    for at, band in enumerate(target.bands):
        other = made.bands[partner[at]] if at in partner else ()
        bands.append(tuple(_pairs(band, other, target, made)))
    found = [pair for band in bands for pair in band]
    left = _without(target.content, (pair.theirs for pair in found))
    free = _without(made.content, (pair.mine for pair in found))
    backdrops = _backdrops(target, made, left, free)
    again = _by_text(
        _without(left, (pair.theirs for pair in backdrops)),
        _without(free, (pair.mine for pair in backdrops)),
        target,
        made,
    )
    near = [pair for pair in again if _near(pair, found)]
    moved = [pair for pair in again if pair not in near]
    taken = (*backdrops, *again)
    return Matching(
        bands=tuple(
            pairs + tuple(pair for pair in near if pair.theirs in band)
            for pairs, band in zip(bands, target.bands, strict=True)
        ),
        moved=tuple(moved),
        backdrops=tuple(backdrops),
        missing=_without((*left, *target.backdrops), (pair.theirs for pair in taken)),
        surplus=_without((*free, *made.backdrops), (pair.mine for pair in taken)),
    )


def similarity(one: str, other: str) -> float:
    """Return the similarity of two texts, 0 to 1: Dice's coefficient (Dice 1945).

    Two long texts are compared by their words, all other texts by pairs of characters. Only the first `_CHARS`
    characters of each text count. Only equal texts have the similarity 1.
    """
    if one == other:
        return 1.0
    long = min(one.count(" "), other.count(" ")) > _SHORT_WORDS
    first, second = _parts(one[:_CHARS], long), _parts(other[:_CHARS], long)
    total = first.total() + second.total()
    return min(0.99, 2 * (first & second).total() / total) if total else 0.0


@lru_cache(maxsize=8192)
def _parts(text: str, words: bool) -> Counter[str]:
    parts = text.lower().split()
    if words:
        return Counter(parts)
    text = f" {' '.join(parts)} "
    return Counter(text[at : at + 2] for at in range(len(text) - 1))


def _align(target: Page, made: Page) -> list[tuple[int, int]]:
    """Return the alignment of bands with the best total agreement, as pairs of indexes (Needleman and Wunsch 1970)."""
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
    """Return how well blocks and texts of two bands match; a difference in vertical position lowers the value."""
    best = [max((_score(a, b, target, made) for b in mine), default=0.0) for a in theirs]
    size = max(len(theirs), len(mine))
    down = abs(theirs[0].y / max(1, target.height) - mine[0].y / max(1, made.height))
    same = sum(any(a.text and a.text == b.text for b in mine) for a in theirs)
    return (sum(best) + same) / size * (1 - 0.3 * down)


def _score(theirs: Block, mine: Block, target: Page, made: Page) -> float:
    """Return how well two blocks correspond, 0 to 1; 0 if they cannot correspond."""
    elsewhere = theirs.text in made.texts or mine.text in target.texts
    if theirs.text and mine.text and theirs.text != mine.text and elsewhere:
        return 0.0
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
    """Return how well two blocks align horizontally, 0 to 1: the best value of left edges, middles and right edges."""
    a, b = theirs.x / target.width, mine.x / made.width
    c, d = (theirs.x + theirs.width) / target.width, (mine.x + mine.width) / made.width
    return max(0.0, 1 - 2 * min(abs(a - b), abs(c - d), abs(a + c - b - d) / 2))


def _pairs(theirs: Band, mine: Band, target: Page, made: Page) -> list[Pair]:
    """Pair the blocks of two bands, each at most once, the best pairs first. Repeated texts are paired in order."""
    scores = {
        (i, j): _score(a, b, target, made) for i, a in enumerate(theirs) for j, b in enumerate(mine)
    }
    scored = (
        (-score - (_nth(theirs, i) == _nth(mine, j)), abs(i - j), i, j)
        for (i, j), score in scores.items()
        if score >= _SAME_PLACE
    )
    return sorted(_greedy(scored, theirs, mine), key=lambda pair: theirs.index(pair.theirs))


def _nth(band: Band, at: int) -> tuple[str, int]:
    """Return the text of block number `at`, and how many earlier blocks of the band have the same text."""
    text = band[at].text
    return text, sum(block.text == text for block in band[:at])


def _by_text(left: Sequence[Block], free: Sequence[Block], target: Page, made: Page) -> list[Pair]:
    """Pair blocks that have no partner yet: texts by similar words, pictures by size and position."""
    scored = (
        (-_score(a, b, target, made), abs(a.y - b.y), i, j)
        for i, a in enumerate(left)
        for j, b in enumerate(free)
        if a.kind == b.kind == "picture"
        or (a.text and similarity(a.text, b.text) >= SAME_TEXT and a.kind != "picture")
    )
    return _greedy(scored, left, free)


def _near(pair: Pair, found: Sequence[Pair]) -> bool:
    """Return True if a pair's vertical shift from target to agent's page is close to its neighbor's shift.

    The neighbor is the pair in `found` that is vertically nearest on the target page. If `found` is empty, the shift
    must be close to 0.
    """
    beside = min(found, key=lambda other: abs(other.theirs.y - pair.theirs.y), default=None)
    shift = beside.mine.y - beside.theirs.y if beside else 0
    return abs(pair.mine.y - pair.theirs.y - shift) <= max(
        _NEAR, pair.theirs.height, pair.mine.height
    )


def _backdrops(
    target: Page, made: Page, left: Sequence[Block], free: Sequence[Block]
) -> list[Pair]:
    """Pair pictures that are about equally far down the page, if text lies on at least one of the two pictures."""
    theirs = [*target.backdrops, *(block for block in left if block.kind == "picture")]
    mine = [*made.backdrops, *(block for block in free if block.kind == "picture")]
    scored = (
        (float(abs(a.y - b.y)), abs(area_of(a) - area_of(b)), i, j)
        for i, a in enumerate(theirs)
        for j, b in enumerate(mine)
        if (a in target.backdrops or b in made.backdrops) and abs(a.y - b.y) < _SAME_BACKDROP
    )
    return _greedy(scored, theirs, mine)


def _greedy(
    scored: Iterable[tuple[float, int, int, int]], theirs: Sequence[Block], mine: Sequence[Block]
) -> list[Pair]:
    """Return pairs of blocks, chosen in order of increasing score; each block is chosen at most once."""
    pairs: list[Pair] = []
    rows, columns = set(), set()
    for _, _, i, j in sorted(scored):
        if i not in rows and j not in columns:
            rows.add(i)
            columns.add(j)
            pairs.append(Pair(theirs=theirs[i], mine=mine[j]))
    return pairs


def _without(blocks: Iterable[Block], taken: Iterable[Block]) -> tuple[Block, ...]:
    gone = {id(block) for block in taken}
    return tuple(block for block in blocks if id(block) not in gone)
