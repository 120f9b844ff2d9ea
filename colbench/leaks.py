"""The leak audit: how much of the hidden reference a reply revealed beyond the question.

Three kinds of items of the reference are counted. Items that are also in the request are not hidden and are left out.
Shares are relative to the hidden items, so 1.0 means that the reply said all hidden items of a kind. An item that the
question itself named does not count as revealed by the reply. The items of a fact do not count either if the question
contains the words of one of the fact's topics or examples. For tasks without facts, the subject of a question is
unknown, and every correct answer counts; the audit is then an upper bound.

                 backend (Python)                             frontend (HTML)
identifiers      names the code defines or uses, said as      class names (also Tailwind's), said as
                 written or as words (`total_cost`, "total    written or as words
                 cost"); no built-ins, no single letters
literals         numbers by value ("15 percent" says 0.15,    the visible texts, as sequences of words
                 0.85 and 1.15) and texts as sequences of
                 words; not 0, 1, True, False, None
n-grams          sequences of four tokens (words, numbers and marks) of the source; they reveal quoting

Each domain decides which items a source has (`Domain.items`). All functions are pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from sys import intern

import msgspec

from colbench.items import Items, mentioned, split_words
from colbench.registry import get_domain
from colbench.rollout import Leak, Turn
from colbench.task import Fact, Task

STEM = 5
"""Number of first letters by which the words of a topic and of a question are compared."""
CACHED_TASKS = 256
"""Number of tasks whose hidden items are cached; enough for the tasks of concurrent dialogues."""
CACHED_TEXTS = 65536
AUDITED = 50_000
"""Maximum number of characters of a message to audit."""


def audit(task: Task, question: str, reply: str) -> Leak:
    """Return the shares of hidden items that a reply reveals, except items that the question named or asked for.

    Items in the request are not hidden. Each field is the share, in [0, 1], of one kind of hidden items.
    """
    secret = hidden_items(task)
    return (mentioned(secret, reply) - _asked(task, secret, question)).share_of(secret)


def audit_turns(task: Task, turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """Return the turns of a dialogue, each with its leak.

    The leak is the share of the hidden items (`hidden_items`) that the human's reply revealed for the first time. An
    item does not count if the human or the agent had already mentioned it, or if the agent had asked for it. So the
    leaks of a dialogue add up to the share revealed in the whole dialogue.

    Turns without a reply stay unchanged. All turns of a domain whose `Domain.audited` is False stay unchanged too:
    there, the human is expected to state the content of the answer. Only the first `AUDITED` characters of a message
    are read, because a one-megabyte message would delay all other dialogues.
    """
    if not get_domain(task.domain).audited:
        return tuple(turns)
    secret = hidden_items(task)
    known = mentioned(secret, "")
    audited = []
    for turn in turns:
        known |= _asked(task, secret, turn.said[:AUDITED])
        if turn.human is None:
            audited.append(turn)
            continue
        given = mentioned(secret, turn.human[:AUDITED]) - known
        known |= given
        audited.append(msgspec.structs.replace(turn, leak=given.share_of(secret)))
    return tuple(audited)


def hidden_items(task: Task) -> Items:
    """Return the items of the reference that the request does not contain."""
    return _secret(task.hidden.reference, task.request, task.domain)


def used_items(task: Task, source: str) -> Items:
    """Return the hidden items that an answer's source contains."""
    return hidden_items(task) & get_domain(task.domain).items(source)


def _asked(task: Task, secret: Items, question: str) -> Items:
    """Return the hidden items that a question names or asks about.

    A question that contains the words of a topic or example of a fact asks about all items in the fact's statement.
    """
    asked = mentioned(secret, question)
    stems = _stems(question)
    for topics, said in _facts(secret, task.hidden.facts):
        if _about_one(topics, stems):
            asked |= said
    return asked


def _about_one(topics: _Topics, stems: frozenset[str]) -> bool:
    """Return True if a question, given by its stems, contains all stems of at least one topic."""
    return any(
        all(map(stems.__contains__, rest)) for stem in (*stems, "") for rest in topics.get(stem, ())
    )


@lru_cache(maxsize=CACHED_TASKS)
def _facts(secret: Items, facts: tuple[Fact, ...]) -> tuple[tuple[_Topics, Items], ...]:
    """Return two values for each fact: its topics and examples, and the hidden items in its statement."""
    return tuple(
        (_topics(fact.topics, fact.examples), said_by(secret, fact.statement)) for fact in facts
    )


@lru_cache(maxsize=2048)
def said_by(secret: Items, statement: str) -> Items:
    """Return the hidden items in a statement; cached, because a task's statements are compared with every reply."""
    return mentioned(secret, statement)


_Topics = Mapping[str, Sequence[tuple[str, ...]]]
"""The topics and examples, grouped by their longest stem. Each topic or example is a tuple of its other stems.

So a question is compared only with the topics whose longest stem it contains. A topic without stems has the key "", and
matches every question.
"""


@lru_cache(maxsize=4096)
def _topics(topics: tuple[str, ...], examples: tuple[str, ...]) -> _Topics:
    """Return the stems of topics and examples; cached, because tasks of one family and theme have the same ones."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for longest, *others in dict.fromkeys(map(_example, (*topics, *examples))):
        found.setdefault(longest, []).append(tuple(others))
    return found


@lru_cache(maxsize=CACHED_TEXTS)
def _example(text: str) -> tuple[str, ...]:
    """Return the stems of a topic or an example, the longest first; cached, because facts of a family share texts."""
    stems = sorted(map(intern, _stems(text)), key=lambda stem: (-len(stem), stem))
    return tuple(stems) or ("",)


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:STEM] for word in split_words(text))


@lru_cache(maxsize=CACHED_TASKS)
def _secret(reference: str, request: str, domain: str) -> Items:
    items = get_domain(domain).items(reference)
    return items - mentioned(items, request)
