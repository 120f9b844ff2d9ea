"""Shares of questions that the rule-based human answers well.

The reply to a plain question about a hidden decision should state the fact of this decision. The reply to an unrelated
question should state no fact. The plain questions come from the task families, and the human knows their wordings.
`tests/colbench/test_facts_held_out.py` measures the human's answers to unknown wordings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from colbench.cli.datasheet.plays import Known, hidden
from colbench.facts.human import answer
from colbench.task import Fact

UNRELATED = (
    "What is the weather like at your place?",
    "Which Python version do you run?",
    "Shall I write tests for it?",
    "Is your computer a Mac?",
    "Who is going to read the code?",
    "Would you like a docstring?",
    "When do you need this?",
    "Did you try a spreadsheet before?",
    "What is your favourite colour?",
    "Do you want to see it in another programming language?",
    "Should I import a library for this?",
    "How is your family?",
)
"""Questions that concern no decision of any task."""


class Share(Struct, frozen=True, kw_only=True):
    """The number of questions with a property, and the number of all questions."""

    right: int
    of: int


class Answers(Struct, frozen=True, kw_only=True):
    """The shares of plain and of unrelated questions that the human answered correctly."""

    told: Share
    """Plain questions about a decision that were answered with the fact of that decision."""
    kept: Share
    """Plain questions about a decision that were answered without a fact of another decision."""
    silent: Share
    """Unrelated questions that were answered without any fact."""


def ask_all(known: Sequence[Known]) -> Answers:
    """Return the shares of right replies to the plain questions of every task, and to all unrelated questions."""
    replies = [reply for one in known for reply in _plain(one)]
    unrelated = [not _facts(one, question) for one in known for question in UNRELATED]
    return Answers(
        told=_share([name in said for name, said in replies]),
        kept=_share([said <= {name} for name, said in replies]),
        silent=_share(unrelated),
    )


def _plain(known: Known) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield, for each plain question, the decision asked for, and the decisions whose facts the reply contains."""
    task, design = known
    for name in hidden(task):
        for question in design.questions[name]:
            yield name, _facts(known, question)


def _facts(known: Known, question: str) -> frozenset[str]:
    task, _ = known
    reply = answer(task, question)
    return frozenset(fact.name for fact in task.hidden.facts if _holds(reply, fact))


def _holds(reply: str, fact: Fact) -> bool:
    return fact.statement in reply


def _share(right: Sequence[bool]) -> Share:
    return Share(right=sum(right), of=len(right))
