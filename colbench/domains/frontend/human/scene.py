"""Both pages side by side, and what is said of a block on them."""

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
    """One thing that a person would say."""

    severity: float
    """How much it matters to the eye; about 1 for half a window."""
    sentence: str
    aspect: Aspect
    subjects: frozenset[str]
    """Blocks that it is about, as `identify` names them: those of the target, of something surplus the agent's."""
    group: str = ""
    """Differences of one group go together: only the first is said."""
    rewords: str = ""
    """The text that is said to become another one."""
    about: str = ""
    """The text of what it is about."""


class Scene:
    """The target, the agent's page and which block stands for which."""

    def __init__(self, theirs: Page, mine: Page, matching: Matching) -> None:
        self.theirs = theirs
        self.mine = mine
        self.matching = matching

    @cached_property
    def common(self) -> tuple[Pair, ...]:
        """Return pairs by whose text either page can be described: it is the same, and occurs only once."""
        times = Counter(block.text for page in (self.theirs, self.mine) for block in page.content)
        return tuple(
            pair
            for pair in self.matching.pairs
            if pair.theirs.text == pair.mine.text
            and times[pair.mine.text] == _ON_BOTH
            and pair.mine.kind not in _WORDLESS
        )

    def wanted_place(self, block: Block) -> str:
        """Say where a block of the target is, by what is on both pages."""
        return place(block, self.theirs, [pair.theirs for pair in self.common])

    def place(self, block: Block) -> str:
        """Say where a block of the agent's page is."""
        return place(block, self.mine, [pair.mine for pair in self.common])

    def called(self, block: Block) -> str:
        """Name a block of the agent's page: `heading "X"`, `picture at the top left`."""
        if block.text and block.kind not in _WORDLESS:
            return f"{KINDS[block.kind]} {quote(block.text)}"
        return f"{KINDS[block.kind]} {self.place(block)}"


def identify(*blocks: Block) -> frozenset[str]:
    """Return names of blocks that are the same on every page where the blocks are."""
    return frozenset(f"{block.kind} {block.x} {block.y}" for block in blocks)


PAGE = frozenset({"page"})
"""The subject of a difference that is about the page as a whole."""
_WORDLESS = ("picture", "box")
_ON_BOTH = 2
