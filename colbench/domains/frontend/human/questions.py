"""The human's replies to messages without a page: answers to questions, or a first description."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from math import inf

from colbench.domains.frontend.human.colors import name
from colbench.domains.frontend.human.page import Page, holds, middle, take_in
from colbench.domains.frontend.human.places import spot, vertical
from colbench.domains.frontend.human.things import wanted
from colbench.domains.frontend.human.words import quote
from colbench.pages.render import Block, Render

NO_PAGE = "I cannot say much without a page to look at."
_MOST = 3

Answer = Callable[[Page], Iterator[str]]


def answer(said: str, target: Render, heard: Sequence[str]) -> str:
    """Return brief answers to a message's questions, at most three sentences.

    If the message asks nothing that the human can answer, return `NO_PAGE` and up to three sentences about the most
    noticeable parts of the target, if possible parts that the human's earlier replies (`heard`) did not name.
    """
    page = take_in(target)
    asked = [tell for words, tell in _TOPICS if words.search(said)]
    sentences = list(dict.fromkeys(sentence for tell in asked for sentence in tell(page)))[:_MOST]
    if sentences:
        return " ".join(sentences)
    new = [one for one in _all(page) if not any(one in words for words in heard)]
    return " ".join((NO_PAGE, *(new or _all(page))[:_MOST]))


def _all(page: Page) -> list[str]:
    things = [*page.content, *page.backdrops]
    found = sorted(
        wanted(things, page, lambda block: spot(block, page)), key=lambda one: -one.severity
    )
    return [one.sentence for one in found]


def _of(page: Page, blocks: Sequence[Block]) -> Iterator[str]:
    found = sorted(
        wanted(blocks, page, lambda block: spot(block, page)), key=lambda one: -one.severity
    )
    return (one.sentence for one in found)


def _kinds(*kinds: str) -> Answer:
    def tell(page: Page) -> Iterator[str]:
        blocks = [block for block in (*page.content, *page.backdrops) if block.kind in kinds]
        if blocks:
            yield from _of(page, blocks)
        else:
            yield f"There should be no {_NAMES[kinds[0]]}."

    return tell


_NAMES = {
    "heading": "heading",
    "text": "text",
    "picture": "picture",
    "link": "links",
    "button": "button",
    "input": "input field",
}


def _colors(page: Page) -> Iterator[str]:
    yield f"The background of the page should be {name(page.background)}."
    areas = sorted(page.areas, key=lambda area: -area.width * area.height)
    for area in areas[: _MOST - 1]:
        inside = next((block for block in page.content if block.text and holds(area, block)), None)
        behind = f" (behind {quote(inside.text)})" if inside else ""
        part = vertical(middle(area)[1], page)
        yield f"The background of the {part} part{behind} should be {name(area.background)}."


def _band(at: int) -> Answer:
    def tell(page: Page) -> Iterator[str]:
        if page.bands:
            yield from _of(page, page.bands[at])

    return tell


def _columns(page: Page) -> Iterator[str]:
    sentences = list(_of(page, [block for block in page.content if block.kind == "heading"]))
    columns = [sentence for sentence in sentences if "columns" in sentence]
    if columns:
        yield from columns
    elif not any(_side_by_side(band) for band in page.bands):
        yield "Everything should be in one column."


def _side_by_side(band: Sequence[Block]) -> bool:
    """Return True if two blocks of a band are next to each other."""
    right = inf
    for block in sorted(band, key=lambda block: block.x):
        if block.x >= right:
            return True
        right = min(right, block.x + block.width)
    return False


def _height(page: Page) -> Iterator[str]:
    yield f"The page should be about {page.height} pixels tall."


_TOPICS: tuple[tuple[re.Pattern[str], Answer], ...] = tuple(
    (re.compile(words, re.IGNORECASE), tell)
    for words, tell in (
        (r"\bcolou?r|\bbackground|\bpalette|\bshade", _colors),
        (r"\bcolumns?\b|\bgrid\b|\blayout\b", _columns),
        (r"\bheadings?\b|\btitles?\b|\bheadlines?\b", _kinds("heading")),
        (r"\bnav|\bmenu\b|\blinks?\b", _kinds("link")),
        (r"\bpictures?\b|\bimages?\b|\bphotos?\b|\blogo\b", _kinds("picture")),
        (r"\bbuttons?\b|\bcall.to.action", _kinds("button")),
        (r"\bforms?\b|\binputs?\b|\bfields?\b", _kinds("input")),
        (r"\bfooter|\bbottom\b", _band(-1)),
        (r"\bheader|\btop\b", _band(0)),
        (r"\btexts?\b|\bparagraphs?\b|\bwording\b|\bcopy\b", _kinds("text")),
        (r"\bheight\b|\btall\b|\blong\b", _height),
    )
)
