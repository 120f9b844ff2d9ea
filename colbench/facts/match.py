"""Choice of the fact that a question asks for, by comparing the question with example questions.

Each fact is a class with its own examples. The class "nothing" has the examples in `unrelated.txt`: questions that
people ask but that no fact answers. Two kinds of evidence are added up for each class:

- Words (naive Bayes): a word, or a pair of consecutive words, is evidence for the classes in whose examples it is more
  frequent. A word that occurs in no example is evidence for "nothing", so a question with more unknown words needs more
  evidence for a fact.
- Similarity (cosine): the examples that are most similar to the question are evidence for their class.

A question asks for a fact if the fact has clearly more evidence than "nothing".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from colbench.facts.words import EMPTY_PHRASES, EMPTY_WORDS, SYNONYMS, WORD, stem

Array = NDArray[Any]

ARTICLES = frozenset(("a", "an", "the"))
EMPTY = 0.3
PAIR = 0.4
SYNONYM = 0.25
"""Weights of a function word, of a pair of neighboring words, and of a synonym, relative to a content word."""
SHRINKAGE = 1.5
"""Number of pseudo-examples with average word frequencies, added to every class as smoothing."""
RARE = 0.002
"""Constant added to every word's average share of examples, so that words that are rare in all classes prove little."""
LEAST = -3.0
"""Lower limit, in nats, of the evidence that a word gives for a class whose examples lack the word."""
STRANGE = 1.0
"""Evidence for "nothing" from a word that no example has, in nats."""
LIKENESS = 16.0
NEAREST = 2
"""Evidence (`LIKENESS`), in nats, for a class whose most similar examples (`NEAREST` of them) have the similarity 1."""

DIGITS = 9
"""Decimal places to which sums are rounded, so that ties are the same on every machine."""


class Found(NamedTuple):
    """The index of the fact that fits a question best, and its lead, in nats, over the class "nothing"."""

    place: int
    lead: float


def features(text: str) -> dict[str, float]:
    """Return the features of a text with their weights: the stems of words, and the pairs of neighboring stems."""
    heard = [w for w in WORD.findall(EMPTY_PHRASES.sub("", text.lower())) if w not in ARTICLES]
    stems = [stem(word) for word in heard]
    found = {f"{one} {other}": PAIR for one, other in pairwise(stems)}
    for word, root in zip(heard, stems, strict=True):
        found[root] = max(found.get(root, 0.0), EMPTY if word in EMPTY_WORDS else 1.0)
    return found


def _length(worths: Iterable[float]) -> float:
    return math.hypot(*worths) or 1.0


WORD_WORTH = np.dtype([("number", np.int32), ("count", np.float32), ("likeness", np.float64)])
"""NumPy type for a word of an example: its number, its count, and its weight for similarity.

The weight is 0 for the example's own function words, but not for synonyms that are function words.
"""
_NUMBERS: dict[str, int] = {}
"""The number of each word of the examples; the number stands for the word in arrays."""


@lru_cache(maxsize=65536)
def _evidence(example: str) -> bytes:
    """Return the features of an example and their synonyms as the bytes of an array of dtype `WORD_WORTH`."""
    words = features(example)
    length = _length(words.values())
    own = [(word, 1.0, worth / length if worth > EMPTY else 0.0) for word, worth in words.items()]
    others = [
        (other, SYNONYM, SYNONYM * worth / length)
        for word, worth in words.items()
        for other in SYNONYMS.get(word, ())
        if other not in words
    ]
    numbered = [
        (_NUMBERS.setdefault(word, len(_NUMBERS)), count, likeness)
        for word, count, likeness in (*own, *others)
    ]
    return np.array(numbered, WORD_WORTH).tobytes()


class _Classes:
    """A set of classes with examples. The methods compare words and questions with the examples of each class."""

    def __init__(self, classes: Sequence[Sequence[str]]) -> None:
        self._sizes = np.array([len(examples) for examples in classes])
        found = [_evidence(example) for examples in classes for example in examples]
        together = np.frombuffer(b"".join(found), WORD_WORTH)
        number, count, likeness = (together[name] for name in WORD_WORTH.names or ())
        widths = [len(each) // WORD_WORTH.itemsize for each in found]
        class_of = np.repeat(np.repeat(np.arange(len(classes)), self._sizes), widths)
        words, rank = np.unique(number, return_inverse=True)
        self._words = words.astype(np.int32)
        cells = np.bincount(
            class_of * len(words) + rank, count, minlength=len(classes) * len(words)
        )
        self._having = cells.reshape(len(classes), -1).astype(np.float32)
        self._most = max(NEAREST, *self._sizes)
        place = np.concatenate([np.arange(size) for size in self._sizes])
        slot = class_of * self._most + np.repeat(place, widths)
        kept = np.flatnonzero(likeness)
        kept = kept[np.argsort(rank[kept], kind="stable")]
        self._starts = np.searchsorted(rank[kept], np.arange(len(words) + 1)).astype(np.int32)
        self._slots = slot[kept].astype(np.min_scalar_type(int(slot.max(initial=0))))
        self._likeness = likeness[kept]

    def having(self, words: Array) -> Array:
        """Return how many examples of each class have each word, as an array of the shape (classes, words).

        In an example without the word, each synonym of the word counts as `SYNONYM`.
        """
        ranks, known = self._find(words)
        having = np.zeros((len(self._sizes), len(words)))
        having[:, known] = self._having[:, ranks]
        return having

    def share(self, having: Array) -> Array:
        """Return the share of each class's examples that contain each word; `having` counts these examples."""
        shares: Array = having / np.maximum(1, self._sizes)[:, None]
        return shares

    def surplus(self, having: Array, usual: Array) -> Array:
        """Return the log ratio, in nats, of each word's smoothed share in a class to its usual share.

        The ratio is at least `LEAST`. `having` counts the examples of each class that contain each word.
        """
        here = (having + SHRINKAGE * usual) / (self._sizes + SHRINKAGE)[:, None]
        return np.maximum(LEAST, np.log(here / usual))

    def likeness(self, words: Array, worths: Array) -> Array:
        """Return, for each class, the mean similarity (0 to 1) between the words and the class's most similar examples.

        `worths`: the weights of the words. A function word that an example contains adds nothing to the similarity. A
        function word counts only if it is a synonym of another word in the example.
        """
        ranks, known = self._find(words)
        starts = self._starts[ranks]
        numbers = self._starts[ranks + 1] - starts
        before = np.cumsum(numbers) - numbers
        entries = np.repeat(starts - before, numbers) + np.arange(numbers.sum())
        shared = np.bincount(
            self._slots[entries],
            np.repeat(worths[known], numbers) * self._likeness[entries],
            minlength=len(self._sizes) * self._most,
        )
        by_class = shared.reshape(len(self._sizes), self._most)
        nearest = np.partition(by_class, -NEAREST, axis=1)[:, -NEAREST:]
        likeness: Array = nearest.sum(axis=1) / NEAREST / _length(worths)
        return likeness

    def _find(self, words: Array) -> tuple[Array, Array]:
        """Find the words that occur in an example; return their indexes in `self._words` and in `words`."""
        ranks = np.searchsorted(self._words, words)
        ranks[ranks == len(self._words)] = 0
        known = np.flatnonzero(self._words[ranks] == words) if len(self._words) else ranks[:0]
        return ranks[known], known


@cache
def _nothing() -> _Classes:
    text = files("colbench.facts").joinpath("unrelated.txt").read_text("utf-8")
    return _Classes([text.splitlines()])


class Matcher:
    """A matcher that finds the fact that a question asks for."""

    def __init__(self, examples: Sequence[Iterable[str]]) -> None:
        """Read the examples of each fact: questions, phrases and words that ask for it."""
        # both sets are built here, because `best` needs the numbers of their words; "nothing" must come first
        self._groups = (
            (_nothing(), _Classes([tuple(each) for each in examples])) if examples else ()
        )

    def best(self, question: str) -> Found | None:
        """Return the fact that fits a question best, or the first of several that fit equally well.

        Return None if there are no facts, or if the question has no words to compare.
        """
        found = features(question)
        if not found or not self._groups:
            return None
        words = np.array([_NUMBERS.get(word, -1) for word in found])
        worths = np.array(list(found.values()))
        pairs = np.array([" " in word for word in found])
        proofs = worths * _proofs(self._groups, words, pairs)
        likeness = [
            like for group in self._groups for like in group.likeness(words, worths).tolist()
        ]
        nothing, *facts = (
            round(math.fsum(proof) + LIKENESS * like, DIGITS)
            for proof, like in zip(proofs.tolist(), likeness, strict=True)
        )
        return Found(facts.index(max(facts)), max(facts) - nothing)


def _proofs(groups: Sequence[_Classes], words: Array, pairs: Array) -> Array:
    """Return the unweighted evidence, in nats, that each word or pair of words gives for each class.

    The array has the shape (classes, words); its first class is "nothing" (no fact). `pairs` is True for
    the entries of `words` that are pairs.
    """
    having = [group.having(words) for group in groups]
    both = list(zip(groups, having, strict=True))
    usual = np.concatenate([group.share(each) for group, each in both]).mean(axis=0)
    proofs = np.concatenate([group.surplus(each, usual + RARE) for group, each in both])
    strange = usual == 0
    proofs[:, strange] = 0.0
    proofs[0, strange & ~pairs] = STRANGE
    return proofs
