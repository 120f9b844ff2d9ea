"""The target and the agent's page side by side, and descriptions of their blocks."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Literal

from msgspec import Struct

from colbench.domains.frontend.human.match import Matching, Pair
from colbench.domains.frontend.human.page import Page
from colbench.domains.frontend.human.places import place
from colbench.domains.frontend.human.words import KINDS, quote
from colbench.pages.render import Block

Aspect = Literal["missing", "surplus", "background", "words", "color", "size", "bold", "place"]


class Difference(Struct, frozen=True, kw_only=True):
    """One difference that a person would mention."""

    severity: float
    """Measure of how noticeable the difference is; about 1 for a missing block that fills half a window."""
    sentence: str
    aspect: Aspect
    subjects: frozenset[str]
    """Names of the blocks that differ: blocks of the target or, if they are surplus, of the agent's page."""
    group: str = ""
    """Name of a group of related differences, of which only the first is mentioned; "" for an unrelated difference."""
    rewords: str = ""
    """The agent's text, if it should be replaced; the reply then omits less urgent differences about this text."""
    about: str = ""
    """The agent's text that the difference concerns."""


class Scene:
    """The target (`theirs`), the agent's page (`mine`) and the matching of their blocks."""

    def __init__(self, theirs: Page, mine: Page, matching: Matching) -> None:
        self.theirs = theirs
        self.mine = mine
        self.matching = matching

    @cached_property
    def common(self) -> tuple[Pair, ...]:
        """The pairs whose text occurs exactly once on each page, so that the text identifies one position per page."""
        times = Counter(block.text for page in (self.theirs, self.mine) for block in page.content)
        return tuple(
            pair
            for pair in self.matching.pairs
            if pair.theirs.text == pair.mine.text
            and times[pair.mine.text] == _ON_BOTH
            and pair.mine.kind not in _WORDLESS
        )

    def wanted_place(self, block: Block) -> str:
        """Describe the position of a target block relative to blocks that are on both pages."""
        return place(block, self.theirs, [pair.theirs for pair in self.common])

    def place(self, block: Block) -> str:
        """Describe the position of a block of the agent's page."""
        return place(block, self.mine, [pair.mine for pair in self.common])

    def called(self, block: Block) -> str:
        """Name a block of the agent's page: `heading "X"`, `picture at the top left`."""
        if block.text and block.kind not in _WORDLESS:
            return f"{KINDS[block.kind]} {quote(block.text)}"
        return f"{KINDS[block.kind]} {self.place(block)}"


def identify(*blocks: Block) -> frozenset[str]:
    """Return a name for each block, made of its kind and position."""
    return frozenset(f"{block.kind} {block.x} {block.y}" for block in blocks)


PAGE = frozenset({"page"})
"""The subject of a difference that is about the page as a whole."""
_WORDLESS = ("picture", "box")
_ON_BOTH = 2
