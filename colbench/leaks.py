"""The leak audit: how much of the hidden reference a reply gave away beyond what was asked.

Three kinds of item are counted. What the request already says is not hidden and is left out; what is left
is the whole, so 1.0 means that everything hidden of that kind has been said. An item that the question
itself named was not given away by the reply; nor, where a task has structured facts, was what a fact says
if the question had the words of one of its topics or examples. Elsewhere nothing tells what a question is
about, and every right answer counts: there the audit is an upper bound.

                 backend (Python)                             frontend (HTML)
identifiers      names the code defines or uses, said as      class names, said as above; Tailwind's
                 written or as words (`total_cost`, "total    utility classes are classes like any other
                 cost"); no built-ins, no single letters
literals         numbers by value ("15 percent" says 0.15,    the visible texts, as sequences of words
                 0.85 and 1.15) and texts as sequences of
                 words; not 0, 1, True, False, None
n-grams          runs of four tokens (words and marks) of the source, in either domain: quoting

Pure functions; a reference that is not Python is read by its tokens.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

import msgspec
from msgspec import Struct

from colbench.rollout import Leak, Turn
from colbench.task import Domain, Fact, Task

NGRAM = 4
"""Tokens in a run: long enough that plain English rarely repeats code by chance."""
STEM = 5
"""Letters by which two words of a topic and a question are taken for the same."""
TRIVIAL_NUMBERS = frozenset({0.0, 1.0})
LARGEST = 1e300
"""Beyond it an integer may have no float."""
CACHED_TASKS = 4096

TOKEN = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)?|[^\w\s]")
WORD = re.compile(r"[A-Z]+(?![a-z])|[^\W\d_A-Z]+|[A-Z][^\W\d_A-Z]*|\d+")
NUMBER = re.compile(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?|\.\d+)(\s*%|[\s-]+per\s?cent)?", re.IGNORECASE)
NAME = re.compile(r"[A-Za-z_]\w*")
QUOTED = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"")
CLASSES = re.compile(r"class\s*=\s*[\"']([^\"']*)")
VISIBLE = re.compile(r">([^<>]+)<")
PYTHON = frozenset(dir(builtins)) | frozenset(keyword.kwlist) | {"self"}

Words = tuple[str, ...]


class Items(Struct, frozen=True, kw_only=True):
    """What there is to give away, or what was given away."""

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
        """These items as shares of `whole`; 0 where there is nothing to give away."""
        return Leak(
            identifiers=_share(len(self.identifiers), len(whole.identifiers)),
            literals=_share(
                len(self.numbers) + len(self.texts), len(whole.numbers) + len(whole.texts)
            ),
            ngrams=_share(len(self.ngrams), len(whole.ngrams)),
        )


FIELDS = Items.__struct_fields__


def audit(task: Task, question: str, reply: str) -> Leak:
    """What one reply gave away beyond the request and beyond what the agent's question named or asked for.

    Each field is a share in [0, 1] of the items of that kind that the request does not hold. Never raises.
    """
    secret = _secret(task.hidden.reference, task.request, task.domain)
    return (_mentioned(secret, reply) - _asked(task, secret, question)).share_of(secret)


def audit_turns(task: Task, turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """The turns of a dialogue, each with what its human reply newly gave away.

    New is what neither side had said or asked for before; so the leaks of a dialogue add up to the share
    that was given away in all of it. Turns without a reply stay as they are.
    """
    secret = _secret(task.hidden.reference, task.request, task.domain)
    known = _mentioned(secret, "")
    audited = []
    for turn in turns:
        known |= _asked(task, secret, turn.said)
        if turn.human is None:
            audited.append(turn)
            continue
        given = _mentioned(secret, turn.human) - known
        known |= given
        audited.append(msgspec.structs.replace(turn, leak=given.share_of(secret)))
    return tuple(audited)


def hidden_items(task: Task) -> Items:
    """The items of the reference that the request does not hold."""
    return _secret(task.hidden.reference, task.request, task.domain)


def told_items(task: Task, text: str) -> Items:
    """Those of them that a text tells."""
    return _mentioned(hidden_items(task), text)


def used_items(task: Task, source: str) -> Items:
    """Those of them that a program or a page holds."""
    return hidden_items(task) & (_of_python if task.domain == "backend" else _of_html)(source)


def _asked(task: Task, secret: Items, question: str) -> Items:
    """What a question names, and what the facts that it is about say."""
    asked = _mentioned(secret, question)
    stems = _stems(question)
    for topics, said in _facts(secret, task.hidden.facts):
        if any(topic <= stems for topic in topics):
            asked |= said
    return asked


@lru_cache(maxsize=CACHED_TASKS)
def _facts(
    secret: Items, facts: tuple[Fact, ...]
) -> tuple[tuple[frozenset[frozenset[str]], Items], ...]:
    """For each fact its topics and examples, and what of the secret its statement says."""
    return tuple(
        (
            frozenset(map(_stems, (*fact.topics, *fact.examples))),
            _mentioned(secret, fact.statement),
        )
        for fact in facts
    )


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:STEM] for word in _words(text))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


@lru_cache(maxsize=CACHED_TASKS)
def _secret(reference: str, request: str, domain: Domain) -> Items:
    items = _of_python(reference) if domain == "backend" else _of_html(reference)
    return items - _mentioned(items, request)


def _of_python(source: str) -> Items:
    names, numbers, texts = _named(source)
    return Items(
        identifiers=frozenset(
            words
            for name in names - PYTHON
            if (words := _words(name)) and (len(words) > 1 or len(words[0]) > 1)
        ),
        numbers=frozenset(numbers) - TRIVIAL_NUMBERS,
        texts=frozenset(filter(None, map(_words, texts))),
        ngrams=frozenset(_ngrams(source)),
    )


def _named(source: str) -> tuple[set[str], set[float], set[str]]:
    """Identifiers, numbers and texts of Python source, by its syntax tree or else by its tokens."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        texts = {one or two for one, two in QUOTED.findall(source)}
        plain = QUOTED.sub(" ", source)
        return set(NAME.findall(plain)), set(_numbers(plain)), texts
    nodes = list(ast.walk(tree))
    constants = [node.value for node in nodes if isinstance(node, ast.Constant)]
    numbers = {float(c) for c in constants if isinstance(c, int | float) and c < LARGEST}
    texts = {c for c in constants if isinstance(c, str)}
    return {name for node in nodes for name in _names(node)}, numbers, texts


def _names(node: ast.AST) -> Iterator[str]:
    for field in ("id", "attr", "arg", "name"):
        name = getattr(node, field, None)
        if isinstance(name, str):
            yield name


def _of_html(source: str) -> Items:
    classes = {name for group in CLASSES.findall(source) for name in group.split()}
    return Items(
        identifiers=frozenset(filter(None, map(_words, classes))),
        numbers=frozenset(),
        texts=frozenset(filter(None, map(_words, VISIBLE.findall(source)))),
        ngrams=frozenset(_ngrams(source)),
    )


def _mentioned(items: Items, text: str) -> Items:
    """The items that occur in a text."""
    words = f" {' '.join(_words(text))} "
    return Items(
        identifiers=_spoken(items.identifiers, words),
        numbers=items.numbers & frozenset(_numbers(text)),
        texts=_spoken(items.texts, words),
        ngrams=items.ngrams & frozenset(_ngrams(text)),
    )


def _spoken(items: Iterable[Words], words: str) -> frozenset[Words]:
    return frozenset(item for item in items if f" {' '.join(item)} " in words)


def _words(text: str) -> Words:
    return tuple(word.lower() for word in WORD.findall(text))


def _ngrams(text: str) -> Iterator[Words]:
    tokens = [token.lower() for token in TOKEN.findall(text)]
    return zip(*(tokens[start:] for start in range(NGRAM)), strict=False)


def _numbers(text: str) -> Iterator[float]:
    """The numbers of a text by value; a percentage also as a fraction, as a cut and as a rise."""
    for digits, percent in NUMBER.findall(text):
        value = float(digits.replace(",", ""))
        yield value
        if percent:
            yield from (round(of, 9) for of in (value / 100, 1 - value / 100, 1 + value / 100))
