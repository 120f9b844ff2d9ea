"""Items of source code that a reply can give away: names, numbers, texts, and sequences of tokens.

`source_items` splits any source into tokens. Domains with their own language (Python, HTML) use better parsers; see
`Domain.items`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from colbench.rollout import Leak

NGRAM = 4
"""Number of tokens in an n-gram; sequences of this length from a source rarely occur in plain English by chance."""
TRIVIAL_NUMBERS = frozenset({0.0, 1.0})

TOKEN = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)?|[^\w\s]")
WORD = re.compile(r"[A-Z]+(?![a-z])|[^\W\d_A-Z]+|[A-Z][^\W\d_A-Z]*|\d+")
NUMBER = re.compile(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?|\.\d+)(\s*%|[\s-]+per\s?cent)?", re.IGNORECASE)
NAME = re.compile(r"[A-Za-z_]\w*")
QUOTED = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"")

Words = tuple[str, ...]


class Items(Struct, frozen=True, kw_only=True):
    """The items of a source, or the subset of them that a message mentions."""

    identifiers: frozenset[Words]
    numbers: frozenset[float]
    texts: frozenset[Words]
    ngrams: frozenset[Words]

    def _each(self, other: Items, merge: Callable[[frozenset, frozenset], frozenset]) -> Items:  # type: ignore[type-arg]  # one merge for sets of two types
        return Items(**{name: merge(getattr(self, name), getattr(other, name)) for name in FIELDS})

    def __and__(self, other: Items) -> Items:
        return self._each(other, frozenset.__and__)

    def __or__(self, other: Items) -> Items:
        return self._each(other, frozenset.__or__)

    def __sub__(self, other: Items) -> Items:
        return self._each(other, frozenset.__sub__)

    def share_of(self, whole: Items) -> Leak:
        """Return the number of items as a share of the number in `whole`, by kind; 0 for kinds that `whole` lacks."""
        return Leak(
            identifiers=_share(len(self.identifiers), len(whole.identifiers)),
            literals=_share(
                len(self.numbers) + len(self.texts), len(whole.numbers) + len(whole.texts)
            ),
            ngrams=_share(len(self.ngrams), len(whole.ngrams)),
        )


FIELDS = Items.__struct_fields__


def make_items(
    source: str, names: Iterable[str], numbers: Iterable[float], texts: Iterable[str]
) -> Items:
    """Build the items of a source from its names, numbers and texts; single letters, 0 and 1 are left out."""
    return Items(
        identifiers=frozenset(
            words
            for name in names
            if (words := split_words(name)) and (len(words) > 1 or len(words[0]) > 1)
        ),
        numbers=frozenset(numbers) - TRIVIAL_NUMBERS,
        texts=frozenset(filter(None, map(split_words, texts))),
        ngrams=frozenset(ngrams(source)),
    )


def source_items(source: str) -> Items:
    """Return the items of source code in any language, found by its tokens."""
    return make_items(source, *tokens_of(source))


def tokens_of(source: str) -> tuple[set[str], set[float], set[str]]:
    """Return the names, the numbers and the quoted texts of a source."""
    texts = {one or two for one, two in QUOTED.findall(source)}
    plain = QUOTED.sub(" ", source)
    return set(NAME.findall(plain)), set(numbers_of(plain)), texts


def mentioned(items: Items, text: str) -> Items:
    """Return the items that occur in a text."""
    words = split_words(text)
    return Items(
        identifiers=_spoken(items.identifiers, words),
        numbers=items.numbers & frozenset(numbers_of(text)),
        texts=_spoken(items.texts, words),
        ngrams=items.ngrams & frozenset(ngrams(text)),
    )


def _spoken(items: Iterable[Words], words: Words) -> frozenset[Words]:
    known, text = frozenset(words), f" {' '.join(words)} "
    return frozenset(item for item in items if item[0] in known and f" {' '.join(item)} " in text)


def split_words(text: str) -> Words:
    """Split a text, or a name such as `total_cost`, into lower-case words."""
    return tuple(map(str.lower, WORD.findall(text)))


def ngrams(text: str) -> Iterator[Words]:
    """Return all sequences of `NGRAM` consecutive tokens in a text, in lower case."""
    tokens = list(map(str.lower, TOKEN.findall(text)))
    return zip(*(tokens[start:] for start in range(NGRAM)), strict=False)


def numbers_of(text: str) -> Iterator[float]:
    """Yield the values of a text's numbers; `15%` yields 15, 0.15, 0.85 (a decrease) and 1.15 (an increase)."""
    for digits, percent in NUMBER.findall(text):
        yield from number_forms(digits, percent)


def number_forms(digits: str, percent: str) -> Iterator[float]:
    """Yield the possible values of a number; `digits` and `percent` are the two groups of `NUMBER`."""
    value = float(digits.replace(",", ""))
    yield value
    if percent:
        yield from (round(of, 9) for of in (value / 100, 1 - value / 100, 1 + value / 100))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
