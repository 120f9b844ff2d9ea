"""The decisions of a task that a reply of the human reveals.

A reply reveals a decision that it states word for word. A model that plays the human uses its own words. Therefore, a
reply also reveals a decision if it contains most words of the decision's statement, or all hidden numbers and texts of
the statement. Hidden numbers and texts are in the reference but not in the request.

A reply that reveals nothing in these ways, such as "no", reveals the decisions that the agent asked for (at most
`MOST_FACTS`). Such a reply reveals no decision if it declines to answer, as in "I don't know".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from sys import intern

from msgspec import Struct

from colbench.facts.human import MOST_FACTS, NO_CODE, REST_UNKNOWN, UNKNOWN, WHAT
from colbench.items import WORD, Items, mentioned
from colbench.leaks import STEM, hidden_items, said_by
from colbench.registry import get_domain
from colbench.task import Fact, Task

MOST_WORDS = 0.6
"""Minimum share of a statement's words that a reply must contain to reveal the statement."""
LONGEST_REPLY = 20_000
"""Maximum number of characters that are searched in a human's reply."""
CANNED = frozenset((*UNKNOWN, *WHAT, NO_CODE, REST_UNKNOWN))
"""Replies, or last sentences of replies, in which the rule-based human reveals nothing."""
DECLINES = re.compile(
    r"\b(?:don['’]?t|do not|doesn['’]?t|does not|not|never) (?:really )?(?:know|sure|understand|decided?|thought)\b"
    r"|\bno idea\b|\b(?:can['’]?t|cannot|could not) (?:say|tell|answer)\b|\bunsure\b|\bnot certain\b",
    re.IGNORECASE,
)
"""Pattern of replies that decline to answer."""

Literals = frozenset[object]


class Heard(Struct, frozen=True, kw_only=True):
    """The content of a human's reply or of a fact's statement, for comparing the two."""

    text: str
    literals: Literals
    """The numbers and strings in the text that the reference contains but the request does not."""
    stems: frozenset[str]
    """The stems of all words of the text."""


def told(task: Task, said: str, reply: str) -> tuple[Fact, ...]:
    """Return the decisions that a reply to an agent's message reveals, in the task's order."""
    domain = get_domain(task.domain)
    reply = reply[:LONGEST_REPLY]
    decisions = domain.decisions(task)
    found = {fact.name for fact in decisions if fact.statement in reply}
    rest = _without(reply, (fact.statement for fact in decisions if fact.name in found))
    if rest and rest not in CANNED:
        words = [heard(task, rest)]
        found.update(fact.name for fact in decisions if was_told(task, fact, words))
        if not found and not DECLINES.search(rest):
            found.update(fact.name for fact in domain.asked(task, said)[:MOST_FACTS])
    return tuple(fact for fact in decisions if fact.name in found)


def _without(reply: str, statements: Iterable[str]) -> str:
    for statement in statements:
        reply = reply.replace(statement, " ")
    return " ".join(reply.split())


def heard(task: Task, reply: str) -> Heard:
    """Return a reply, the hidden numbers and texts that it contains, and the stems of its words."""
    text = reply[:LONGEST_REPLY]
    items = mentioned(hidden_items(task), text)
    return Heard(text=text, literals=literals(items), stems=_stems(text))


@lru_cache(maxsize=2048)
def _statement(secret: Items, text: str) -> Heard:
    """Return a statement, its hidden numbers and texts, and the stems of its words; cached for all replies."""
    return Heard(text=text, literals=literals(said_by(secret, text)), stems=_stems(text))


def was_told(task: Task, fact: Fact, replies: Sequence[Heard]) -> bool:
    """Return True if one of the human's replies contains enough of a fact's statement to reveal the fact."""
    statement = _statement(hidden_items(task), fact.statement)
    enough = max(1, MOST_WORDS * len(statement.stems))
    return any(
        statement.text in reply.text
        or (statement.literals and statement.literals <= reply.literals)
        or len(statement.stems & reply.stems) >= enough
        for reply in replies
    )


def literals(items: Items) -> Literals:
    """Return the numbers and the texts among a set of items, as one set."""
    return frozenset(items.numbers) | frozenset(items.texts)


def _stems(text: str) -> frozenset[str]:
    return frozenset(intern(word[:STEM].lower()) for word in WORD.findall(text))
