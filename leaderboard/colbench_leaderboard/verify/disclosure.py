"""The disclosure audit: what an answer does that nobody had told its author.

What is hidden in a task are its facts or, where it has none, the numbers and texts of its reference that the request
does not hold. A fact was told when one reply of the human holds its statement, all its numbers and texts, or most of
its words. It was used, though untold, by an answer that holds all its numbers and texts, or that is right.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from colbench.domain import get_domain
from colbench.items import WORD, Items
from colbench.leaks import STEM, hidden_items, told_items, used_items
from colbench.rollout import Rollout
from colbench.task import Fact, Task
from colbench_leaderboard.verify.copies import is_copy

MOST_WORDS = 0.6
"""Share of a statement's words that a reply in other words has to hold."""
LONGEST_REPLY = 20_000
"""Characters of a human's reply that are looked at."""

Literals = frozenset[object]


class Disclosure(Struct, frozen=True, kw_only=True):
    """What there was to tell in one dialogue, what was not told, and what of that the answer used."""

    hidden: int
    untold: int
    used: int
    knew: bool
    """Whether the answer shows all of it: it is right or, where that cannot be said or
    a task has no facts, a copy."""
    copied: bool
    """Whether it is the reference, or nearly, and not wrong: what differs may be just what was not told."""

    @property
    def share(self) -> float | None:
        """Of what was hidden, what was used untold; None where nothing was hidden."""
        return self.used / self.hidden if self.hidden else None


class Heard(Struct, frozen=True, kw_only=True):
    """One reply of the human, and what of the hidden items it tells."""

    text: str
    literals: Literals
    stems: frozenset[str]


def disclosure(task: Task, rollout: Rollout, *, success: bool | None) -> Disclosure:
    """What an answer knew that its dialogue does not tell."""
    replies = [heard(task, turn.human) for turn in rollout.turns if turn.human]
    source = get_domain(task.domain).source(rollout.answer or "")
    copied = success is not False and is_copy(task, source)
    used = _literals(used_items(task, source))
    facts = [fact for fact in task.hidden.facts if not fact.stated]
    if facts:
        right = copied if success is None else success
        untold = [fact for fact in facts if not was_told(task, fact, replies)]
        taken = sum(right or _holds(task, fact, used) for fact in untold)
        hidden, left = len(facts), len(untold)
    else:
        right = copied
        whole = _literals(hidden_items(task))
        secret = whole.difference(*(reply.literals for reply in replies))
        hidden, left, taken = len(whole), len(secret), len(secret & used)
    return Disclosure(hidden=hidden, untold=left, used=taken, knew=right, copied=copied)


def heard(task: Task, reply: str) -> Heard:
    """What a reply tells."""
    text = reply[:LONGEST_REPLY]
    return Heard(text=text, literals=_literals(told_items(task, text)), stems=_stems(text))


def was_told(task: Task, fact: Fact, replies: Sequence[Heard]) -> bool:
    """Whether one of the human's replies tells a fact."""
    said = heard(task, fact.statement)
    enough = max(1, MOST_WORDS * len(said.stems))
    return any(
        said.text in reply.text
        or (said.literals and said.literals <= reply.literals)
        or len(said.stems & reply.stems) >= enough
        for reply in replies
    )


def _holds(task: Task, fact: Fact, used: Literals) -> bool:
    literals = heard(task, fact.statement).literals
    return bool(literals) and literals <= used


def _literals(items: Items) -> Literals:
    return frozenset(items.numbers) | frozenset(items.texts)


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:STEM].lower() for word in WORD.findall(text))
