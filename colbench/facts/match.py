"""Which fact a question asks for, judged by examples: those of each fact, and those of nothing at all.

Two kinds of evidence are added up. Every word, and every two words in a row, speak for the facts in whose examples
they are more frequent (naive Bayes, each fact and "nothing" a class), and the examples most like the question
speak for theirs (cosine). A fact is asked for if it beats "nothing" clearly.

"Nothing" has its own examples, `unrelated.txt`: what people ask about and no rule says. A word that no
example has speaks for it too, so a question needs the more evidence, the more of it is strange.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from heapq import nlargest
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

from colbench.facts.words import EMPTY_PHRASES, EMPTY_WORDS, SYNONYMS, WORD, stem

ARTICLES = frozenset(("a", "an", "the"))
EMPTY = 0.3
PAIR = 0.4
SYNONYM = 0.25
"""What an empty word, two words in a row, and a synonym of a word are worth, a word with meaning being worth 1."""
SHRINKAGE = 1.5
"""Examples of average words that every class is given: a class of few examples proves little."""
RARE = 0.002
"""Share of examples that every word is given beforehand: what is rare everywhere proves little."""
LEAST = -3.0
"""What a word that a class lacks can prove against it at most, in nats."""
STRANGE = 1.0
"""What a word that no example has says for "nothing", in nats."""
LIKENESS = 16.0
NEAREST = 2
"""Nats for the full likeness of the nearest examples, and how many of them are taken."""

DIGITS = 9
"""Sums are rounded to so many, so that equal ones are equal on every machine."""


class Found(NamedTuple):
    """The best fact for a question, by its place, and by how many nats it beats "nothing"."""

    place: int
    lead: float


@lru_cache(maxsize=65536)
def features(text: str) -> dict[str, float]:
    """The stems of a text's words, and those of every two in a row, with what each is worth."""
    heard = [w for w in WORD.findall(EMPTY_PHRASES.sub("", text.lower())) if w not in ARTICLES]
    found = {f"{stem(one)} {stem(other)}": PAIR for one, other in pairwise(heard)}
    for word in heard:
        found[stem(word)] = max(found.get(stem(word), 0.0), EMPTY if word in EMPTY_WORDS else 1.0)
    return found


def _length(words: Mapping[str, float]) -> float:
    return math.hypot(*words.values()) or 1.0


@lru_cache(maxsize=65536)
def _evidence(example: str) -> tuple[tuple[str, float, float], ...]:
    """The words of an example and their synonyms: how much each counts there, and for likeness (empty ones not)."""
    words = features(example)
    length = _length(words)
    own = [(word, 1.0, worth / length if worth > EMPTY else 0.0) for word, worth in words.items()]
    others = [
        (other, SYNONYM, SYNONYM * worth / length)
        for word, worth in words.items()
        for other in SYNONYMS.get(word, ())
        if other not in words
    ]
    return (*own, *others)


class _Class:
    """Examples of one kind: how often they have each word, and how like them a question is."""

    def __init__(self, examples: Iterable[str]) -> None:
        self._number = 0
        self._having: defaultdict[str, float] = defaultdict(float)
        self._places: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        for self._number, example in enumerate(examples, start=1):
            for word, count, likeness in _evidence(example):
                self._having[word] += count
                if likeness:
                    self._places[word].append((self._number, likeness))

    def share(self, word: str) -> float:
        """The share of examples with a word, synonyms counted in part."""
        return self._having.get(word, 0.0) / max(1, self._number)

    def surplus(self, word: str, usual: float) -> float:
        """By how many nats the word is more frequent here than usual."""
        here = (self._having.get(word, 0.0) + SHRINKAGE * usual) / (self._number + SHRINKAGE)
        return max(LEAST, math.log(here / usual))

    def likeness(self, words: Mapping[str, float]) -> float:
        """The mean likeness, from 0 to 1, of the examples nearest to the words; empty words do not count."""
        shared: defaultdict[int, float] = defaultdict(float)
        for word, worth in words.items():
            for place, other in self._places.get(word, ()):
                shared[place] += worth * other
        return math.fsum(nlargest(NEAREST, shared.values())) / NEAREST / _length(words)


@cache
def _nothing() -> _Class:
    text = files("colbench.facts").joinpath("unrelated.txt").read_text("utf-8")
    return _Class(text.splitlines())


_class_of = lru_cache(maxsize=4096)(_Class)
"""Tasks of one family and theme share the classes of their facts."""


class Matcher:
    """Finds the fact that a question asks for."""

    def __init__(self, examples: Sequence[Iterable[str]]) -> None:
        """`examples`: for each fact what people say when they ask for it: questions, phrases, words."""
        self._classes = [_nothing(), *(_class_of(tuple(each)) for each in examples)]
        self._proofs: dict[str, tuple[float, ...]] = {}

    def best(self, question: str) -> Found | None:
        """The fact that a question fits best, the earlier one of two equals; None if it has no words."""
        words = features(question)
        if not words or len(self._classes) == 1:
            return None
        proved = zip(self._classes, self._by_words(words), strict=True)
        nothing, *facts = (round(p + LIKENESS * one.likeness(words), DIGITS) for one, p in proved)
        return Found(facts.index(max(facts)), max(facts) - nothing)

    def _by_words(self, words: Mapping[str, float]) -> Iterator[float]:
        """For each class what the words prove, in nats."""
        proofs = [(worth, self._proof(word)) for word, worth in words.items()]
        for i in range(len(self._classes)):
            yield math.fsum(worth * proof[i] for worth, proof in proofs)

    def _proof(self, word: str) -> tuple[float, ...]:
        """For each class what one word, or two in a row, prove at their full worth."""
        if word not in self._proofs:
            usual = math.fsum(one.share(word) for one in self._classes) / len(self._classes)
            if usual:
                proof = [one.surplus(word, usual + RARE) for one in self._classes]
            else:
                proof = [0.0 if " " in word else STRANGE, *(0.0 for _ in self._classes[1:])]
            self._proofs[word] = tuple(proof)
        return self._proofs[word]
