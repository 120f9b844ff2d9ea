"""The rule-based human for tasks without facts, which reads the reference code and reveals the decision asked for.

Each question in the agent's last message is compared with every fact of the reference: by its words, and by the kind of
thing that it asks for (a threshold, an order, an error). The human says the best facts, at most two, if they match well
enough. The code is never run and never quoted.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from textwrap import shorten

from colbench.config import derive_seed
from colbench.domains.backend.human.concepts import CONCEPTS, SPECIFIC, asked, telling
from colbench.domains.backend.human.facts import CodeFact, code_facts
from colbench.errors import SimulatorError
from colbench.facts.human import AND_ALSO, CODE_LINE, FENCE, UNKNOWN, WHAT, questions
from colbench.facts.words import SYNONYMS, content, stem
from colbench.messages import Message
from colbench.task import Fact, Task

MOST_FACTS = 2
LIMIT = 400
"""Maximum number of characters in a reply."""
GOOD_ENOUGH = 0.4
"""Minimum share of the total weight of a question's words that a fact must match to answer the question."""
FOREIGN = 0.8
IN_REQUEST = 0.25
"""Weights of a question's words that occur in no fact: `IN_REQUEST` if the request has the word, else `FOREIGN`."""
BY_SYNONYM = 0.6
BY_CONCEPT = 0.7
AGREEMENT = 0.05
"""Bonus for each concept word that a fact matches, to distinguish facts that otherwise match equally well."""
OFF_CONCEPT = 0.4
"""Factor that lowers a match if the question asks for a specific concept that the fact does not concern."""
OFF_TOPIC = 0.5
"""Factor that lowers a match if the question has words of this reference's facts, but no word of this fact."""
SHAPE_UNASKED = 0.5
"""Factor that lowers a match with a fact on a parameter's format if the question does not ask about inputs.

A match with a fact on a parameter's default is lowered only if the question also asks how an input is used (`USED`).
"""
USED = re.compile(r"\b(?:affect|impact|influence|contribute|use|happen|matter)", re.IGNORECASE)
"""Pattern of questions about how an input is used, as opposed to its format."""
ABOUT_INPUT = frozenset({"type", "input", "default", "table", "label"})
NEUTRAL = frozenset(
    map(stem, ("final", "overall", "actual", "main", "desired", "expected", "accurate", "compare"))
)
LONGEST_HEARD = 20_000
"""Maximum number of characters of a message that are read."""
MOST_QUESTIONS = 20
"""Maximum number of parts of questions (`_parts`) that are considered in one message."""
NAME_LENGTH = 60
"""Maximum number of characters that a decision's name takes from the decision's sentence; a number precedes them."""


class CodeHuman:
    """A human who answers from `task.hidden.reference`. The same question about the same task gets the same answer."""

    async def respond(self, task: Task, dialogue: Sequence[Message]) -> Message:
        """Return the human's answer to the agent's last message.

        Raises SimulatorError if the reference cannot be read (see `code_facts`), or if the dialogue has no message of
        the agent.
        """
        said = next((m.content for m in reversed(dialogue) if m.role == "assistant"), None)
        if said is None:
            raise SimulatorError(
                "the dialogue has no message from the agent that the human could answer"
            )
        return Message(role="user", content=answer(task, said))


def answer(task: Task, said: str) -> str:
    """Return the human's reply to a message: at most two facts, or a stock phrase if no fact matches.

    Each part of a question adds at most one fact. If two facts exceed `LIMIT` together, only the first is said. Raises
    SimulatorError if the reference cannot be read.
    """
    parts = _parts(said)
    facts = list(_found(task, parts))[:MOST_FACTS]
    if facts:
        both = " ".join(facts)
        return both if len(both) <= LIMIT else facts[0][:LIMIT]
    vague = not any(content(part) or asked(part) for part in parts)
    replies = WHAT if vague else UNKNOWN
    return replies[derive_seed(task.hash, " ".join(said.lower().split())) % len(replies)]


def decisions(task: Task) -> tuple[Fact, ...]:
    """Estimate the decisions behind a task: one for each fact in the reference code, named by its first words.

    The result is empty if the reference cannot be read.
    """
    try:
        return _decisions(task.hidden.reference)
    except SimulatorError:
        return ()


def asked_decisions(task: Task, said: str) -> tuple[Fact, ...]:
    """Return the decisions that a message asks about, as the human understands the message.

    The decisions are estimates, as in `decisions`. Raises SimulatorError if the reference cannot be read.
    """
    by_sentence = {fact.statement: fact for fact in decisions(task)}
    return tuple(by_sentence[sentence] for sentence in _found(task, _parts(said)))


@lru_cache(maxsize=1024)
def _decisions(reference: str) -> tuple[Fact, ...]:
    return tuple(
        Fact(
            name=f"{number}: {shorten(fact.sentence, NAME_LENGTH)}",
            topics=(),
            statement=fact.sentence,
        )
        for number, fact in enumerate(code_facts(reference), start=1)
    )


def _parts(said: str) -> list[str]:
    """Return the parts of the questions in a message, or of the whole message if the message has no questions."""
    words = CODE_LINE.sub("", FENCE.sub("\n", said[:LONGEST_HEARD]))
    return [part for question in questions(words) or [words] for part in AND_ALSO.split(question)]


def _found(task: Task, parts: Sequence[str]) -> dict[str, None]:
    """Return the sentences of the decisions that the parts ask for, each once, in the order of the parts."""
    matcher = _matcher(task.hidden.reference, task.request)
    found = (matcher.best(part) for part in parts[:MOST_QUESTIONS])
    return dict.fromkeys(fact.sentence for fact in found if fact)


@lru_cache(maxsize=1024)
def _matcher(reference: str, request: str) -> _Matcher:
    return _Matcher(code_facts(reference), request)


class _Matcher:
    """A matcher that finds the fact that a question is about."""

    def __init__(self, facts: Sequence[CodeFact], request: str) -> None:
        self._facts = facts
        self._request = frozenset(content(request))
        self._spread = Counter(term for fact in facts for term in fact.terms)
        self._kinds = Counter(concept for fact in facts for concept in fact.concepts)

    def best(self, question: str) -> CodeFact | None:
        """Return the fact that a question is about (on a tie, the earlier one); None if no fact matches well enough."""
        kinds = self._asked(question)
        words = self._words(question)
        plain = (word for word in words if word in self._spread or word not in CONCEPTS)
        whole = sum(map(self._weight, plain))
        whole += max(map(self._kind_weight, kinds.values()), default=0.0)
        used = bool(USED.search(question))
        scores = [self._score(fact, words, kinds, used) for fact in self._facts]
        best = max(scores, default=0.0)
        return self._facts[scores.index(best)] if whole and best >= GOOD_ENOUGH * whole else None

    def _asked(self, question: str) -> dict[str, frozenset[str]]:
        """Return the words of a question that stand for concepts, each with its concepts.

        A word that occurs in the reference's facts counts only if one of its concepts is in `SPECIFIC`. If any word
        stands for the concept `formula`, the words of one concept are left out: words for `return` if the reference has
        a formula, otherwise words for `formula`.
        """
        unasked = "return" if "formula" in self._kinds else "formula"
        found = {
            word: meant
            for word, meant in asked(question).items()
            if word not in self._spread or meant & SPECIFIC
        }
        if any("formula" in meant for meant in found.values()):
            return {word: meant for word, meant in found.items() if unasked not in meant}
        return found

    def _words(self, question: str) -> list[str]:
        """Return the words of a question that are distinctive in general or in this reference."""
        general = [word for word in content(question) if word not in NEUTRAL]
        here = [word for word in telling(question) if word in self._spread]
        return list(dict.fromkeys((*general, *here)))

    def _score(
        self, fact: CodeFact, words: Sequence[str], kinds: dict[str, frozenset[str]], used: bool
    ) -> float:
        by_kind = [found for meant in kinds.values() if (found := self._by_kind(meant, fact))]
        by_word = sum(self._by_word(word, fact) for word in words)
        score = by_word + max(by_kind, default=0.0) + AGREEMENT * len(by_kind)
        if not by_word and not self._spread.keys().isdisjoint(words):
            score *= OFF_TOPIC
        meant = frozenset[str]().union(*kinds.values())
        special = frozenset[str]().union(*(m for m in kinds.values() if m <= SPECIFIC))
        if special and not special & fact.concepts:
            return score * OFF_CONCEPT
        given = "input" in fact.concepts and (used or "default" not in fact.concepts)
        return score * SHAPE_UNASKED if given and not meant & ABOUT_INPUT else score

    def _weight(self, word: str) -> float:
        """Return how distinctive a word of a question is."""
        if word in self._spread:
            return self._rarity(self._spread[word])
        return IN_REQUEST if word in self._request else FOREIGN

    def _kind_weight(self, meant: frozenset[str]) -> float:
        return max(
            BY_CONCEPT * (self._rarity(self._kinds[kind]) if kind in self._kinds else 1.0)
            for kind in meant
        )

    def _by_word(self, word: str, fact: CodeFact) -> float:
        exact = fact.terms.get(word, 0.0) * self._rarity(self._spread[word])
        alike = (
            fact.terms[other] * self._rarity(self._spread[other])
            for other in SYNONYMS.get(word, ())
            if other in fact.terms
        )
        return max(exact, BY_SYNONYM * max(alike, default=0.0))

    def _by_kind(self, meant: frozenset[str], fact: CodeFact) -> float:
        shared = meant & fact.concepts
        return max((BY_CONCEPT * self._rarity(self._kinds[kind]) for kind in shared), default=0.0)

    def _rarity(self, spread: int) -> float:
        """Return a weight: 1 for a word that only one fact has, and less for a word that more facts have."""
        total = len(self._facts)
        return math.log(1 + total / max(spread, 1)) / math.log(1 + total) if total > 1 else 1.0
