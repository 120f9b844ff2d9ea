"""Agreement of two pages block by block, after Design2Code (arXiv 2403.03163), from the browser's own layout.

The blocks of both pages are paired so that the sum of similarities is maximal (optimal assignment). Blocks with text
are paired by content. Pictures, areas, empty inputs and empty buttons are paired with blocks of the same kind, by
position and size. Two blocks whose similarity is below `LEAST` are never paired.

Each measure is the share of both pages that agrees. Each pair's agreement is multiplied by the sum of its blocks'
sizes. The sum of these products is divided by the sum of the sizes of all blocks of both pages. Design2Code takes means
over the paired blocks only. Here, unpaired blocks also count, so that a page with just one correct block gets a low
value. A block's size is the square root of its area, so that one large background does not outweigh the text on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from colbench.domains.frontend.color import ciede2000, lab
from colbench.pages.render import Block, Render

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LEAST = 0.5
"""Minimum similarity of the two blocks of a pair."""
NEARBY = 0.1
"""Weight of nearness; equal text has the weight 1. The nearer of two equal links is thus chosen for a pair."""
MOST_BLOCKS = 1000
"""Maximum number of blocks of a page that are compared, in reading order; pages of known task sets have fewer."""
MOST_TEXT = 1000
"""Maximum number of characters that are compared in a block's text."""


class Agreement(Struct, frozen=True, kw_only=True):
    """The agreement of two pages. Each measure is in [0, 1]: 1 for equal pages, 0 if exactly one page is empty.

    The text below each field defines the agreement of one pair of blocks, from which the measure is computed. If
    neither page has a block to which `text` (or `color`) applies, this measure has the value of `block`.
    """

    block: float
    """Size: the size of the smaller block of a pair, divided by the mean size of both."""
    text: float
    """Words: the Sørensen-Dice coefficient of the pair's character bigrams, ignoring case."""
    position: float
    """Position: one minus the horizontal or vertical distance of the centers, whichever is greater.

    The distances are shares of the width of the wider page and of the height of the taller page.
    """
    color: float
    """Color: one minus CIEDE2000 / 100 of the backgrounds; for text, the mean over backgrounds and text colors."""

    @property
    def layout(self) -> float:
        """The mean of `block`, `text`, `position` and `color`."""
        return (self.block + self.text + self.position + self.color) / 4


class Pair(NamedTuple):
    """A pair of corresponding blocks, one from each page."""

    mine: Block
    theirs: Block
    nearness: float
    """1 if both centers are at the same place, 0 if they are a whole page width or height apart."""
    text: float
    """Similarity of the texts; 0 for blocks without text."""


def compare_layout(mine: Render, theirs: Render) -> Agreement:
    """Return the agreement of two rendered pages; the order of the pages does not matter."""
    blocks = (*mine.blocks[:MOST_BLOCKS], *theirs.blocks[:MOST_BLOCKS])
    pairs = pair_blocks(mine, theirs)
    block = _share(pairs, blocks, _size_agreement)
    words = [pair for pair in pairs if _says(pair.mine)]
    colored = [pair for pair in pairs if _colored(pair.mine)]
    return Agreement(
        block=block,
        text=_share(words, filter(_says, blocks), lambda pair: pair.text, block),
        position=_share(pairs, blocks, lambda pair: pair.nearness),
        color=_share(colored, filter(_colored, blocks), _color_agreement, block),
    )


def _share(
    pairs: Iterable[Pair],
    blocks: Iterable[Block],
    agreement: Callable[[Pair], float],
    otherwise: float = 1.0,
) -> float:
    """Return the sum of agreement x size over the pairs, divided by the blocks' total size.

    If the total size is 0, return `otherwise`.
    """
    total = sum(map(_size, blocks))
    agreed = sum(agreement(pair) * (_size(pair.mine) + _size(pair.theirs)) for pair in pairs)
    return agreed / total if total else otherwise


def _size(block: Block) -> float:
    return sqrt(block.width * block.height)


def _says(block: Block) -> bool:
    return bool(block.text) and block.kind not in {"picture", "box"}


def _colored(block: Block) -> bool:
    return block.kind != "picture"


def _size_agreement(pair: Pair) -> float:
    sizes = _size(pair.mine), _size(pair.theirs)
    return 2 * min(sizes) / sum(sizes) if any(sizes) else 1.0


def _color_agreement(pair: Pair) -> float:
    both = pair.mine, pair.theirs
    agreements = [_same_color(*(block.background for block in both))]
    if _says(pair.mine):
        agreements.append(_same_color(*(block.color for block in both)))
    return sum(agreements) / len(agreements)


@lru_cache(maxsize=4096)
def _same_color(first: str, second: str) -> float:
    if first == second:
        return 1.0
    difference = ciede2000(lab([first]), lab([second]))
    return max(0.0, 1 - float(difference[0]) / 100)


def pair_blocks(mine: Render, theirs: Render) -> list[Pair]:
    """Pair the corresponding blocks of two pages, each block at most once."""
    extent = max(mine.width, theirs.width, 1), max(mine.height, theirs.height, 1)
    pages = _by_class(mine.blocks[:MOST_BLOCKS]), _by_class(theirs.blocks[:MOST_BLOCKS])
    return [
        pair
        for name in pages[0].keys() & pages[1].keys()
        for pair in _pair(pages[0][name], pages[1][name], extent, words=name == "words")
    ]


def _by_class(blocks: Iterable[Block]) -> dict[str, list[Block]]:
    classes: dict[str, list[Block]] = {}
    for block in blocks:
        classes.setdefault("words" if _says(block) else block.kind, []).append(block)
    return classes


def _pair(
    mine: list[Block], theirs: list[Block], extent: tuple[int, int], *, words: bool
) -> list[Pair]:
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    nearness = _nearness(mine, theirs, extent)
    if words:
        texts = [[block.text[:MOST_TEXT] for block in blocks] for blocks in (mine, theirs)]
        likeness = dice(*texts)
        gain = likeness + NEARBY * nearness
    else:
        likeness = gain = nearness * _shape(mine, theirs)
    gain = np.where(likeness >= LEAST, gain, 0)
    return [
        Pair(mine[i], theirs[j], float(nearness[i, j]), float(likeness[i, j]) if words else 0.0)
        for i, j in zip(*linear_sum_assignment(gain, maximize=True), strict=True)
        if likeness[i, j] >= LEAST
    ]


def _nearness(mine: list[Block], theirs: list[Block], extent: tuple[int, int]) -> Floats:
    """Return how near each block in `mine` is to each block in `theirs`, 0 to 1; shape (len(mine), len(theirs))."""
    import numpy as np

    first, second = (
        np.array([(block.x + block.width / 2, block.y + block.height / 2) for block in blocks])
        for blocks in (mine, theirs)
    )
    apart = np.abs(first[:, None] - second[None]) / extent
    nearness: Floats = np.clip(1 - apart.max(axis=-1), 0, 1)
    return nearness


def _shape(mine: list[Block], theirs: list[Block]) -> Floats:
    """Return how similar in size each block in `mine` is to each block in `theirs`; shape (len(mine), len(theirs)).

    The value is the ratio of the widths times the ratio of the heights, both at most 1.
    """
    import numpy as np

    first, second = (
        np.array([(max(block.width, 1), max(block.height, 1)) for block in blocks], np.float64)
        for blocks in (mine, theirs)
    )
    ratio = first[:, None] / second[None]
    shape: Floats = np.minimum(ratio, 1 / ratio).prod(axis=-1)
    return shape


def dice(mine: Sequence[str], theirs: Sequence[str]) -> Floats:
    """Return the similarity of each text in `mine` to each text in `theirs`; shape (len(mine), len(theirs)).

    The similarity is the Sørensen-Dice coefficient of the texts' character bigrams. Case is ignored, and a space is
    added before and after each text.
    """
    import numpy as np

    first, second = ([_bigrams(text) for text in texts] for texts in (mine, theirs))
    shared = sorted(set().union(*first) & set().union(*second))
    left, right = (
        np.array([[count[bigram] for bigram in shared] for count in counts], np.int32)
        for counts in (first, second)
    )
    common = np.array([np.minimum(row, right).sum(axis=1) for row in left])
    totals = np.add.outer(*([count.total() for count in counts] for counts in (first, second)))
    coefficients: Floats = 2 * common / totals
    return coefficients


def _bigrams(text: str) -> Counter[str]:
    padded = f" {text.casefold()} "
    return Counter(map("".join, pairwise(padded)))
