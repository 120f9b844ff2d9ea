"""The rule-based human for tasks with facts, which answers exactly the questions asked, briefly.

Every question of the agent's last message is matched with the facts (`facts.match`). The best fact is revealed if it
matches clearly better than the class "nothing", whose examples are questions that no fact answers. A question gets at
most one fact for each of its parts ("what is …, and how is …?"). A reply has at most two facts. If the agent fishes for
information ("tell me everything"), the human asks for a specific question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from colbench.config import derive_seed
from colbench.facts.words import content
from colbench.messages import Message
from colbench.task import Fact, Task

if TYPE_CHECKING:
    from colbench.facts.match import Matcher

MOST_FACTS = 2
ENOUGH = 3.0
CLEAR = 4.5
"""Minimum lead, in nats, that a fact must have over the class "nothing" to count as asked for.

`ENOUGH` applies to the first part of a message's first question, and `CLEAR` to all other parts.
"""
HEARD = 4000
"""Maximum number of characters that are read, counted from the end of a message."""

UNKNOWN = (
    "I don't know.",
    "I don't know, sorry.",
    "That I don't know.",
    "Sorry, I don't know that.",
    "I really don't know.",
)
WHAT = (
    "What exactly do you want to know?",
    "That is too general for me, what exactly do you need?",
    "Please ask me something more specific.",
)
NO_CODE = "I can't read code, just ask me what you want to know."
REST_UNKNOWN = "The rest of your question I don't know."
PLAIN = (
    "What is the {}?",
    "What about the {}?",
    "Is there a {}?",
    "How big is the {}?",
    "How large is the {}?",
    "How is the {} handled?",
)
"""Templates of example questions about a topic, for facts that have no examples of their own."""

EXAMPLE = re.compile(
    r"\([^()]*\)|\b(?:e\.? ?g\.?|for example|for instance|such as|i\.e\.|like (?=[\"\d]))[^?;,]*",
    re.IGNORECASE,
)
FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
CODE_LINE = re.compile(
    r"^[ \t]*(?:(?:def|class|if|elif|else|for|while|try|with)\b.*:"
    r"|(?:import|from|return) (?![^#\n]*\?\s*$).*|[\w.\[\]]+ \W?= .*)$",
    re.MULTILINE,
)
"""Pattern for a line of code. A line such as "return what?" does not match, unless the "?" is in a comment."""
SENTENCE = re.compile(r"(?<=\S[.?!])(?<!\be\.g\.)\s+|\n+|;\s+")
ASKING = r"what|how|is|are|do|does|did|should|shall|which|when|where|who|whose|why|can|could|will|would|must|may"
AND_ALSO = re.compile(
    rf"(?:,|(?<![\s,]))\s++(?:and|also|plus)\s++(?=(?:{ASKING}|if)\b)", re.IGNORECASE
)
FURTHER = re.compile(
    r"^\W*(?:for (?:example|instance)|e\.? ?g\b|i\.e\b|that is|in other words|such as|specifically|"
    r"in particular|(?:and |or )*if (?:so|yes|not|no|there is|it is|it does)|or|say|like)\b",
    re.IGNORECASE,
)
"""Pattern for the start of a question that only continues the previous one."""
GOES_ON = re.compile(rf"{FURTHER.pattern}|\b(?:it|they|them|this|that|those)\b", re.IGNORECASE)
"""Pattern for a part of a question that refers to the subject of the previous part."""
QUESTION = re.compile(
    rf"(?:^|:(?![^\w:]*+:))\W*+(?:and |also |so |then |next,? |please )*(?:{ASKING}|tell|give|let|provide|"
    r"confirm|state|explain|describe|specify|clarify|name|list|show|i (?:need|want|would like|'d like) to know)\b",
    re.IGNORECASE,
)


class FactsHuman:
    """A human that replies from `task.hidden.facts`; the same message about the same task gets the same reply."""

    async def respond(self, task: Task, dialogue: Sequence[Message]) -> Message:
        """Return the human's reply to the last message of the dialogue."""
        return Message(role="user", content=answer(task, dialogue[-1].content))


def answer(task: Task, said: str) -> str:
    """Return the human's reply to a message, from the facts of the task."""
    heard = _hear(task.hidden.facts, said)
    told = list(dict.fromkeys(fact.statement for facts in heard.asked for fact in facts))
    if told:
        unanswered = len(told) < MOST_FACTS and not all(heard.asked)
        return " ".join([*told[:MOST_FACTS], *([REST_UNKNOWN] if unanswered else [])])
    if heard.code:
        return NO_CODE
    replies = UNKNOWN if heard.asked else WHAT
    return replies[derive_seed(task.hash, " ".join(said.lower().split())) % len(replies)]


def asked_facts(facts: tuple[Fact, ...], said: str) -> tuple[Fact, ...]:
    """Return the facts that a message asks for, in the order of the message's questions and without repetition.

    The human chooses facts in the same way, and reveals the first `MOST_FACTS` facts.
    """
    return tuple(dict.fromkeys(fact for found in _hear(facts, said).asked for fact in found))


class _Heard(NamedTuple):
    """One message of the agent, analyzed by the human."""

    asked: tuple[tuple[Fact, ...], ...]
    """The facts that each question asks for."""
    code: bool
    """True if the message contains code."""


def _hear(facts: tuple[Fact, ...], said: str) -> _Heard:
    words = CODE_LINE.sub("", FENCE.sub("\n", said))
    return _Heard(_asked(facts, words[-HEARD:]), words != said)


@lru_cache(maxsize=4096)
def _asked(facts: tuple[Fact, ...], text: str) -> tuple[tuple[Fact, ...], ...]:
    """Return the facts that each question in a text asks for."""
    asked = [q for i, q in enumerate(questions(text)) if not i or not FURTHER.match(q)]
    return tuple(tuple(_about(facts, q, first=not i)) for i, q in enumerate(asked))


def questions(text: str) -> list[str]:
    """Return the questions in a text.

    A question without content words of its own ("how is that handled?") is joined with the sentence before it. If that
    sentence has no content words either, the question is left out ("can you help me?").
    """
    found = []
    before = ""
    for sentence in SENTENCE.split(text):
        if sentence.rstrip().endswith("?") or QUESTION.search(sentence):
            found.append(sentence if content(sentence) else f"{before} {sentence}")
        before = sentence
    return list(filter(content, found))


def _parts(question: str) -> Iterator[str]:
    """Yield the parts of a question, without examples such as "(e.g. …)".

    Stop before the first part that refers back to an earlier part. If only the question's examples have content words,
    the examples are kept.
    """
    plain = EXAMPLE.sub(" ", question)
    first, *others = AND_ALSO.split(plain if content(plain) else question)
    yield first
    yield from takewhile(lambda part: not GOES_ON.search(part), others)


def _about(facts: Sequence[Fact], question: str, *, first: bool) -> Iterator[Fact]:
    """Yield at most one fact for each part of a question ("what is …, and how is …?").

    A part may merely continue a question. So the best fact for a part is yielded only if its lead over the class
    "nothing" is at least `CLEAR`. The first part of a message's first question (`first`) always asks for something, so
    the lead `ENOUGH` suffices.
    """
    matcher = _matcher(tuple(map(_examples, facts)))
    for part in _parts(question):
        found = matcher.best(part) if content(part) else None
        if found and found.lead >= (ENOUGH if first else CLEAR):
            yield facts[found.place]
        first = False


@lru_cache(maxsize=256)
def _matcher(examples: tuple[tuple[str, ...], ...]) -> Matcher:
    """Return the matcher of a task's facts; tasks of one family and theme share a matcher."""
    from colbench.facts.match import Matcher

    return Matcher(examples)


def _examples(fact: Fact) -> tuple[str, ...]:
    """Return a fact's topics and example questions. If the fact has no examples, build questions about its topics."""
    plain = (ask.format(topic) for topic in fact.topics for ask in PLAIN)
    return (*fact.topics, *(fact.examples or plain))
