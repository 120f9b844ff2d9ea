"""Which fact a question asks for, judged by examples: those of each fact, and those of nothing at all.

Two kinds of evidence are added up. Every word speaks for the facts in whose examples it is more frequent
(naive Bayes over stems, each fact and "nothing" a class), and the examples most like the question speak for
theirs (cosine of rarity-weighted stems). A fact is asked for if it beats "nothing" clearly.

"Nothing" has its own examples, `unrelated.txt`: what people ask about and no rule says. A word that no
example has speaks for it too, so a question needs the more evidence, the more of it is strange.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from colbench.simulators.facts_focus import attention, stems
from colbench.simulators.facts_words import SYNONYMS

SYNONYM = 0.4
"""What a synonym of a word is worth, the word itself being worth 1."""
SHRINKAGE = 1.5
"""Examples of average words that every class is given: a class of few examples proves little."""
MOST = 2.5
"""What one word can prove at most, in nats."""
STRANGE = 0.8
"""What a word that no example has says for "nothing", in nats."""
IN_REQUEST = 0.75
"""The attention that a word of the request gets: it is about the task, hence about no fact in particular."""
LIKENESS = 8.0
NEAREST = 3
"""Nats for the full likeness of the nearest examples, and how many of them are taken."""

Stems = tuple[str, ...]


class Found(NamedTuple):
    """The best fact for a question, by its place, and by how many nats it beats "nothing"."""

    place: int
    lead: float


class _Class:
    """Examples of one kind, and how many of them have each word."""

    def __init__(self, examples: Iterable[str]) -> None:
        self.examples = [frozenset(stems(text)) for text in examples]
        self.having = Counter(word for words in self.examples for word in words)
        self._spread: dict[str, float] = dict(self.having)
        for word, number in self.having.items():
            for other in SYNONYMS.get(word, ()):
                self._spread[other] = self._spread.get(other, 0.0) + SYNONYM * number

    def share(self, word: str) -> float:
        """The share of examples with a word, synonyms counted in part."""
        return self._spread.get(word, 0.0) / max(1, len(self.examples))

    def surplus(self, word: str, usual: float) -> float:
        """By how many nats the word is more frequent here than usual, within bounds."""
        here = (self._spread.get(word, 0.0) + SHRINKAGE * usual) / (len(self.examples) + SHRINKAGE)
        return max(-MOST, min(MOST, math.log(here / usual)))


@cache
def _nothing() -> _Class:
    text = files("colbench.simulators").joinpath("unrelated.txt").read_text("utf-8")
    return _Class(text.splitlines())


class Matcher:
    """Finds the fact that a question asks for."""

    def __init__(self, examples: Sequence[Iterable[str]]) -> None:
        """`examples`: for each fact what people say when they ask for it: questions, phrases, words."""
        self._classes = [_nothing(), *map(_Class, examples)]
        words = sum((one.having for one in self._classes), Counter[str]())
        self._number = sum(len(one.examples) for one in self._classes)
        self._rarity = {
            word: math.log(1 + self._number / (n + 0.5)) ** 2 for word, n in words.items()
        }
        self._owner = array("H", (i for i, one in enumerate(self._classes) for _ in one.examples))
        self._length = array("d")
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for place, example in enumerate(e for one in self._classes for e in one.examples):
            self._length.append(math.sqrt(sum(map(self._rarity.__getitem__, sorted(example)))) or 1)
            for word in example:
                self._places[word].append(place)
        self._known = words.keys() | {o for word in words for o in SYNONYMS.get(word, ())}

    def best(self, question: str, request: frozenset[str]) -> Found | None:
        """The fact that a question fits best, the earlier one of two equals; None if it has no words.

        `request` holds the stems of the task's request.
        """
        words = {
            word: weight * (IN_REQUEST if word in request else 1.0)
            for word, weight in attention(question).items()
        }
        if not words or len(self._classes) == 1:
            return None
        proved = zip(self._by_words(words), self._by_examples(words), strict=True)
        nothing, *facts = (one + LIKENESS * other for one, other in proved)
        return Found(facts.index(max(facts)), max(facts) - nothing)

    def _by_words(self, words: Mapping[str, float]) -> list[float]:
        """For each class what the words prove, in nats."""
        proved = [0.0] * len(self._classes)
        for word, weight in words.items():
            if word not in self._known:
                proved[0] += weight * STRANGE
                continue
            shares = [one.share(word) for one in self._classes]
            usual = max(sum(shares) / len(shares), 0.5 / self._number)
            for i, one in enumerate(self._classes):
                proved[i] += weight * one.surplus(word, usual)
        return proved

    def _by_examples(self, words: Mapping[str, float]) -> list[float]:
        """For each class the mean likeness, from 0 to 1, of its examples nearest to the words."""
        shared: defaultdict[int, float] = defaultdict(float)
        for word, weight in words.items():
            for other in (word, *sorted(SYNONYMS.get(word, ()))):
                worth = weight * self._rarity.get(other, 0.0) * (1 if other == word else SYNONYM)
                for place in self._places.get(other, ()):
                    shared[place] += worth
        unseen = math.log(1 + 2 * self._number) ** 2
        length = sum(w**2 * self._rarity.get(word, unseen) for word, w in words.items()) ** 0.5
        likeness: list[list[float]] = [[] for _ in self._classes]
        for place, worth in shared.items():
            likeness[self._owner[place]].append(worth / length / self._length[place])
        return [sum(sorted(one)[-NEAREST:]) / NEAREST for one in likeness]
