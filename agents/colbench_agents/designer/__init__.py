"""The designer: a rule-based agent that starts from a template and applies the human's comments by rules.

The designer knows web pages in general, but uses neither the bundled pages nor their generator. It keeps the page as a
list of elements with positions (`Thing`). Each sentence of the human that asks for a change becomes a *wish*, which
changes this list.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import chain

from msgspec.structs import replace

from colbench.interfaces import Agent, Episode
from colbench.messages import ANSWER_MARKER, Message
from colbench.task import FRONTEND
from colbench_agents.designer.edits import apply, withdraw
from colbench_agents.designer.markup import html
from colbench_agents.designer.page import Page
from colbench_agents.designer.reading import read
from colbench_agents.designer.template import first_page
from colbench_agents.designer.wishes import Missing, Moved, Wish

CONTENT = "That is what I have in mind"


class Designer:
    """An agent that shows a page in each turn. The answer is the first page that satisfies the human, else the last."""

    domains = (FRONTEND,)

    @asynccontextmanager
    async def open(self, episode: Episode) -> AsyncIterator[Agent]:
        """Yield the designer of one dialogue."""
        yield Draughtsman(episode.max_turns)


class Draughtsman:
    """The agent's part of one dialogue. It keeps no state: for each reply, all comments are applied again."""

    def __init__(self, max_turns: int) -> None:
        self._max_turns = max_turns

    async def reply(self, dialogue: Sequence[Message]) -> Message:
        """Return a message with the page after all wishes so far.

        The message is the answer if the human is satisfied or the turn is the last one.
        """
        said = [message.content for message in dialogue if message.role == "user"]
        page = design(said[0], said[1:])
        content = any(CONTENT in words for words in said[1:])
        if content or len(said) >= self._max_turns:
            return Message(role="assistant", content=f"{ANSWER_MARKER}\n{fenced(page)}")
        opening = "Here is the page with your changes." if said[1:] else "Here is a first page."
        return Message(role="assistant", content=f"{opening}\n{fenced(page)}")


def design(request: str, said: Sequence[str]) -> Page:
    """Return the page for a request, changed according to all of the human's comments in `said`."""
    page = first_page(request)
    known: list[Wish] = []
    for wish in chain.from_iterable(map(read, said)):
        if isinstance(wish, Moved) and any(_again(wish, other) for other in known):
            apply(replace(wish, alone=True), page)
        elif isinstance(wish, Missing) and any(_same(wish, other) for other in known):
            if withdraw(page, wish):
                apply(wish, page)
        else:
            apply(wish, page)
        known.append(wish)
    return page


def _same(wish: Missing, other: Wish) -> bool:
    """Return True if both wishes ask for the same missing thing, perhaps in different places."""
    return isinstance(other, Missing) and wish == replace(other, place=wish.place)


def _again(wish: Moved, other: Wish) -> bool:
    """Return True if an earlier wish already moved the same thing in the same direction, up or down."""
    same = isinstance(other, Moved) and (wish.kind, wish.text) == (other.kind, other.text)
    return same and isinstance(other, Moved) and wish.down * other.down > 0


def fenced(page: Page) -> str:
    """Return the page in a code fence."""
    return f"```html\n{html(page)}\n```"
