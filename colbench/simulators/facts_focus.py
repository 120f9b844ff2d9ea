"""What a question is about: its words, each with the attention that it gets.

What is asked for counts in full; a condition ("once the limit is exceeded") less, and examples least, as they
name things that the question is not about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from colbench.simulators.facts_words import EMPTY_PHRASES, EMPTY_WORDS, WORD, stem

ASIDE = 0.5
CONDITION = 0.75
"""The attention that words of an example and of a condition get; all others get 1."""
EXAMPLE = re.compile(
    r"\([^()]*\)|\b(?:e\.? ?g\.?|for example|for instance|such as|i\.e\.|like (?=[\"\d]))[^?;]*",
    re.IGNORECASE,
)
CLAUSE = re.compile(
    r"\b(?:if|when|once|after|whenever|while|because|since|in case|unless)\b[^,;?]*", re.IGNORECASE
)
ASKED_FOR = re.compile(r"\bhow (many|much|long|far|old|large|big|often|high)\b")
ADJECTIVES = frozenset(("long", "far", "old"))
"""Of these, "how long" also asks for a length, and so on."""
QUESTION_WORDS = frozenset(("who", "where", "when"))


def attention(question: str) -> dict[str, float]:
    """The stems of a question, each with its attention in (0, 1]."""
    weights: dict[str, float] = {}
    for part, weight in _parts(question):
        for word in stems(part):
            weights[word] = max(weights.get(word, 0.0), weight)
    return weights


def stems(text: str) -> list[str]:
    """The stems of the words with meaning; "?who", "?many" and the like for what is asked for."""
    marked = ASKED_FOR.sub(_asked_for, EMPTY_PHRASES.sub("", text.lower()))
    return [kept for word in re.findall(rf"\?\w+|{WORD.pattern}", marked) if (kept := _stem(word))]


def _asked_for(found: re.Match[str]) -> str:
    word = found[1]
    return f"?{word} {word}" if word in ADJECTIVES else f"?{word}"


def _stem(word: str) -> str:
    if word[0] == "?":
        return word
    if word in QUESTION_WORDS:
        return f"?{word}"
    return "" if word in EMPTY_WORDS else stem(word)


def _parts(question: str) -> Iterator[tuple[str, float]]:
    """Examples, conditions and the rest, with their attention."""
    for example in EXAMPLE.findall(question):
        yield example, ASIDE
    rest = EXAMPLE.sub(" ", question)
    for clause in CLAUSE.findall(rest):
        yield clause, CONDITION
    yield CLAUSE.sub(" ", rest), 1.0
