"""Interpretation of the human's messages by a rule-based agent: which choice a message states for a decision."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from colbench_tasks.family import Choice

WORD = re.compile(r"-?\d+(?:\.\d+)?|\w+")
SENTENCE = re.compile(r"(?<=[.!?])\s+")
ALIKE = 0.3
"""Similarity above which a sentence counts as stating a choice; 1 is the similarity of equal sentences."""
NUMBER = 3
"""Weight of a number in the similarity of two sentences; a word has the weight 1."""


def read(wordings: Iterable[tuple[Choice, str]], said: str) -> Choice | None:
    """Return the choice whose wording is most similar to a sentence of `said`; None if no wording is similar enough.

    A sentence counts only for choices without a value and for choices whose value it contains. `wordings` are the pairs
    of choice and wording for one decision, as `colbench_tasks.family.statements` yields them.
    """
    if not said:
        return None
    sentences = [_bag(sentence) for sentence in SENTENCE.split(said)]
    best, meant = ALIKE, None
    for choice, words in wordings:
        bag = _bag(words)
        named = (sentence for sentence in sentences if _names(sentence, choice))
        likeness = max((_likeness(bag, sentence) for sentence in named), default=0.0)
        if likeness > best:
            best, meant = likeness, choice
    return meant


def _names(sentence: Counter[str], choice: Choice) -> bool:
    """Return True if the sentence contains the choice's value (a number or a word), or the choice has no value."""
    return choice.value is None or str(choice.value).lower() in sentence


@lru_cache(maxsize=16384)
def _bag(text: str) -> Counter[str]:
    """Count words and pairs of adjacent words, so that "from A to Z" differs from "from Z to A"."""
    words = WORD.findall(text.lower())
    pairs = (f"{one} {other}" for one, other in pairwise(words))
    numbers = (word for word in words if word[-1].isdigit())
    return Counter([*words, *pairs, *(NUMBER - 1) * list(numbers)])


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """Return Dice's coefficient of two bags of words."""
    return 2 * (one & other).total() / max(1, one.total() + other.total())
