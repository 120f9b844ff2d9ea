"""The disclosure audit: what an answer does that nobody had told its author.

What is hidden in a task are its facts or, where it has none, the numbers and texts of its reference that the request
does not hold. A fact was told when one reply of the human holds its statement, all its numbers and texts, or most of
its words. It was used, though untold, by an answer that holds all its numbers and texts, or that is right.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from colbench.leaks import STEM, WORD, Items, hidden_items, told_items, used_items
from colbench.rollout import Rollout
from colbench.scorers.answers import extract_code
from colbench.task import Fact, Task
from colbench_leaderboard.verify.copies import is_copy

MOST_WORDS = 0.6
"""Share of a statement's words that a reply in other words has to hold."""
LONGEST = 200_000
"""Characters; a longer answer is not looked at."""

Literals = frozenset[object]


class Disclosure(Struct, frozen=True, kw_only=True):
    """What there was to tell in one dialogue, what was not told, and what of that the answer used."""

    hidden: int
    untold: int
    used: int
    knew: bool
    """Whether the answer shows all of it: it is right or, where a task has no facts, a copy."""
    copied: bool
    """Whether it is the reference, or nearly, and not wrong: what differs may be just what was not told."""

    @property
    def share(self) -> float | None:
        """Of what was hidden, what was used untold; None where nothing was hidden."""
        return self.used / self.hidden if self.hidden else None


def disclosure(task: Task, rollout: Rollout, *, success: bool | None) -> Disclosure:
    """What an answer knew that its dialogue does not tell."""
    replies = [turn.human for turn in rollout.turns if turn.human]
    answer = rollout.answer or ""
    answer = answer if len(answer) <= LONGEST else ""
    source = extract_code(answer, "default") if task.domain == "backend" else answer
    copied = success is not False and is_copy(task, source)
    used = _literals(used_items(task, source))
    facts = [fact for fact in task.hidden.facts if not fact.stated]
    if facts:
        right = bool(success)
        untold = [fact for fact in facts if not was_told(task, fact, replies)]
        taken = sum(right or _holds(task, fact, used) for fact in untold)
        hidden, open_ = len(facts), len(untold)
    else:
        right = copied
        whole = _literals(hidden_items(task))
        left = whole - _literals(told_items(task, "\n".join(replies)))
        hidden, open_, taken = len(whole), len(left), len(left & used)
    return Disclosure(hidden=hidden, untold=open_, used=taken, knew=right, copied=copied)


def was_told(task: Task, fact: Fact, replies: Sequence[str]) -> bool:
    """Whether one of the human's replies tells a fact."""
    literals = _literals(told_items(task, fact.statement))
    stems = _stems(fact.statement)
    return any(
        fact.statement in reply
        or (literals and literals <= _literals(told_items(task, reply)))
        or len(stems & _stems(reply)) >= max(1, MOST_WORDS * len(stems))
        for reply in replies
    )


def _holds(task: Task, fact: Fact, used: Literals) -> bool:
    literals = _literals(told_items(task, fact.statement))
    return bool(literals) and literals <= used


def _literals(items: Items) -> Literals:
    return frozenset(items.numbers) | frozenset(items.texts)


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:STEM].lower() for word in WORD.findall(text))
