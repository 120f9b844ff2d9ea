"""The disclosure audit: what an answer uses that its author was never told, and whether guessing explains it.

Hidden in a task are its facts or, if it has none, the numbers and texts of its reference that the request lacks.
A fact was told if one reply of the human holds its statement, all its numbers and texts, or most of its words. It was
used untold by an answer that holds all its numbers and texts, or that is right.

An answer that needs n untold facts is guessed with a probability of at most 2^-n, because each leaves two choices or
more. The sum of these probabilities over all such dialogues is what a guesser would get right; the Poisson
distribution judges whether an entry has more.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, fsum, lgamma, log

from msgspec import Struct

from colbench.items import WORD, Items
from colbench.leaks import STEM, hidden_items, told_items, used_items
from colbench.registry import get_domain
from colbench.rollout import Rollout
from colbench.task import Fact, Task
from colbench_leaderboard.verify.findings import Findings

MOST_WORDS = 0.6
"""Share of a statement's words that a paraphrase must hold."""
LONGEST_REPLY = 20_000
"""Characters of a human's reply that are searched."""
LEAST_UNTOLD = 3
"""Hidden facts; fewer may be easy to guess."""
ALPHA = 0.01
"""Probability below which an entry is flagged."""

Literals = frozenset[object]


class Disclosure(Struct, frozen=True, kw_only=True):
    """Counts of facts in one dialogue: hidden, never told, and used by the answer although untold."""

    hidden: int
    untold: int
    used: int
    knew: bool
    """True if the answer shows all of it: it is right or, if that is unknown or the task has no facts, a copy."""
    copied: bool
    """True if it is nearly the reference and not wrong; a wrong near-copy may lack just what was untold."""

    @property
    def share(self) -> float | None:
        """Share of the hidden facts that was used untold; None if nothing was hidden."""
        return self.used / self.hidden if self.hidden else None


class Heard(Struct, frozen=True, kw_only=True):
    """One text of the human, with its hidden items and word stems."""

    text: str
    literals: Literals
    stems: frozenset[str]


def disclosure(task: Task, rollout: Rollout, *, success: bool | None) -> Disclosure:
    """Return what an answer uses that its dialogue never tells."""
    replies = [heard(task, turn.human) for turn in rollout.turns if turn.human]
    domain = get_domain(task.domain)
    source = domain.source(rollout.answer or "")
    copied = success is not False and domain.copied(task, source)
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
    """Return the hidden items and word stems of a text."""
    text = reply[:LONGEST_REPLY]
    return Heard(text=text, literals=_literals(told_items(task, text)), stems=_stems(text))


def was_told(task: Task, fact: Fact, replies: Sequence[Heard]) -> bool:
    """Return True if one of the human's replies tells a fact."""
    statement = heard(task, fact.statement)
    enough = max(1, MOST_WORDS * len(statement.stems))
    return any(
        statement.text in reply.text
        or (statement.literals and statement.literals <= reply.literals)
        or len(statement.stems & reply.stems) >= enough
        for reply in replies
    )


def _holds(task: Task, fact: Fact, used: Literals) -> bool:
    literals = heard(task, fact.statement).literals
    return bool(literals) and literals <= used


def _literals(items: Items) -> Literals:
    return frozenset(items.numbers) | frozenset(items.texts)


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:STEM].lower() for word in WORD.findall(text))


class Known(Struct, kw_only=True):
    """Counts, over the dialogues of an entry, of answers that show what was untold."""

    dialogues: int = 0
    solved: int = 0
    copied: int = 0
    expected: float = 0.0

    def add(self, told: Disclosure) -> bool:
        """Count a dialogue, and return True, if enough of it was untold."""
        if told.untold < LEAST_UNTOLD:
            return False
        self.dialogues += 1
        self.expected += 2.0**-told.untold
        self.solved += told.knew
        self.copied += told.copied
        return True

    def report(self, findings: Findings) -> None:
        """Flag counts that guessing does not explain."""
        for rule, count, what in (
            ("audit.undisclosed", self.solved, "do what"),
            ("audit.reference-copies", self.copied, "are the reference, or nearly, of which"),
        ):
            if count and at_least(count, self.expected) < ALPHA:
                findings.add(
                    rule,
                    f"{count:,} answers {what} their dialogues leave untold in {LEAST_UNTOLD} or more "
                    f"points, of {self.dialogues:,} such dialogues; a guesser would get {self.expected:.1f}",
                )


def at_least(count: int, mean: float) -> float:
    """Return the probability that a Poisson variable of this mean is `count` or more."""
    if mean <= 0 or count <= 0:
        return float(count <= 0)
    return max(0.0, 1 - fsum(exp(k * log(mean) - mean - lgamma(k + 1)) for k in range(count)))
