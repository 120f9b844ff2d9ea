"""The rule-based agent for functions: it asks questions, then writes the function.

The interviewer is a reference policy, not a fair entry: it knows the families of tasks in `colbench_tasks`, that is,
their code and the wording of every choice. It does not know which of these choices a task's author made, and learns
them only from the dialogue. For other tasks, it asks general questions, and writes a function that returns one fixed
value: the last value that the human's messages name as a result (see `best_effort`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache

from colbench.config import derive_seed
from colbench.errors import UserError
from colbench.messages import Message
from colbench.task import BACKEND
from colbench_agents.reading import read
from colbench_tasks.families import FAMILIES
from colbench_tasks.family import Choice, Decision, Family, Theme, fill, statements

INTERVIEWS = 1024
"""Number of requests whose interviews are cached."""
MARKER = "I WANT TO ANSWER:"
NAME = re.compile(r"\bdef\s+([A-Za-z_]\w*)\s*\(")
GENERAL = (
    "What should the function return in the normal case?",
    "Which special cases or limits are there?",
    "What should happen with missing or empty input?",
)
LITERAL = re.compile(
    r"\b(?:return|returns|gives?|be)\s+(True|False|-?\d+(?:\.\d+)?|'[^']*'|\"[^\"]*\"|\[\]|\{\})"
)


class Interviewer:
    """An agent that asks a plain question about each open decision of a request, then writes the function.

    If a reply does not settle a decision, the agent asks about it once more, in other words. It asks at most
    `max_questions` questions. `never_asks` lists decisions to leave out, such as `rounding,tie`. `leaves` is the number
    of further open decisions to leave out; the request determines which ones. For a decision that stays open, the
    function makes the most common choice.

    Raises UserError if a number is negative or not an integer, or if a name in `never_asks` is not a decision of any
    family.
    """

    domains = (BACKEND,)

    def __init__(self, *, max_questions: int = 9, never_asks: str = "", leaves: int = 0) -> None:
        for name, number in (("max_questions", max_questions), ("leaves", leaves)):
            if not isinstance(number, int) or number < 0:
                raise UserError(f"--agent-arg {name}: expected a whole number, 0 or greater")
        self._max_questions, self._leaves = max_questions, leaves
        self._never_asks = frozenset(filter(None, str(never_asks).split(",")))
        families = (family for family, _ in _themes().values())
        decisions = {decision.name for family in families for decision in family.decisions}
        if unknown := self._never_asks - decisions:
            raise UserError(
                f"--agent-arg never_asks: {min(unknown)!r} is not a decision of any task family"
            )

    async def reply(self, dialogue: Sequence[Message]) -> Message:
        """Return the next question, or the answer. The reply depends only on the dialogue."""
        turns = list(zip(dialogue[1::2], dialogue[2::2], strict=False))
        asked = [(question.content, said.content) for question, said in turns]
        return Message(role="assistant", content=self._next(dialogue[0].content, asked))

    def _next(self, request: str, asked: list[tuple[str, str]]) -> str:
        known = recognize(request)
        interview = _interview(request, self._never_asks, self._leaves) if known else None
        question = interview.question(asked) if interview else _general(asked)
        if question and len(asked) < self._max_questions:
            return question
        code = interview.code(asked) if interview else best_effort(request, [s for _, s in asked])
        return f"{MARKER}\n{code}"


def recognize(request: str) -> tuple[Family, Theme] | None:
    """Return the family and theme whose signature ends the request; None if no known signature does."""
    return _themes().get(_signature(request))


def _signature(request: str) -> str:
    """Return the signature at the end of a request; "" for a request without a signature."""
    start = request.rfind("def ")
    return request[start:].strip() if start >= 0 else ""


@cache
def _themes() -> Mapping[str, tuple[Family, Theme]]:
    """Return families and themes by function signature. If signatures are equal, ColBench's own families win."""
    themes: dict[str, tuple[Family, Theme]] = {}
    for family in FAMILIES.loadable():
        for theme in family.themes:
            themes.setdefault(family.signature(theme), (family, theme))
    return themes


@lru_cache(maxsize=INTERVIEWS)
def _interview(request: str, never_asks: frozenset[str], leaves: int) -> _Interview:
    """Return the interview about a request of a family. It is cached, because a dialogue needs it in each turn."""
    return _Interview(request, never_asks, leaves)


class _Interview:
    """The questions about one task, and the code that follows from the replies.

    The object has no state: each method receives the questions asked so far, with their replies.
    """

    def __init__(self, request: str, never_asks: frozenset[str], leaves: int) -> None:
        self._family, self._theme = _themes()[_signature(request)]
        decisions = self._family.decisions
        self._wordings = {each.name: tuple(statements(each, self._theme)) for each in decisions}
        self._stated = _stated(request, self._wordings)
        self._wording = derive_seed(request)
        unknown = [each.name for each in decisions if each.name not in self._stated]
        first = self._wording % max(1, len(unknown))
        self._never_asks = never_asks.union((unknown[first:] + unknown[:first])[:leaves])

    def question(self, asked: list[tuple[str, str]]) -> str | None:
        """Return the next question; None if no question is left.

        Every open decision is asked about once. Decisions that are still open are then asked about in other words.
        """
        before = {question for question, _ in asked}
        done = self._never_asks.union(self._settled(asked))
        for attempt in range(2):
            for decision in self._family.decisions:
                question = self._ask(decision, attempt)
                if decision.name not in done and question not in before:
                    return question
        return None

    def code(self, asked: list[tuple[str, str]]) -> str:
        return self._family.source(self._theme, self._family.usual() | self._settled(asked))

    def _settled(self, asked: list[tuple[str, str]]) -> dict[str, Choice]:
        said = dict(asked)
        settled = dict(self._stated)
        for decision in self._family.decisions:
            for attempt in range(2):
                choice = read(
                    self._wordings[decision.name], said.get(self._ask(decision, attempt), "")
                )
                if choice:
                    settled[decision.name] = choice
        return settled

    def _ask(self, decision: Decision, attempt: int) -> str:
        asks = decision.asks
        return fill(asks[(self._wording + attempt) % len(asks)], self._theme)


def stated(request: str, family: Family, theme: Theme) -> dict[str, Choice]:
    """Return the decisions that a request states in the family's own wording, with their choices."""
    return _stated(request, {each.name: statements(each, theme) for each in family.decisions})


def _stated(
    request: str, wordings: Mapping[str, Iterable[tuple[Choice, str]]]
) -> dict[str, Choice]:
    return {
        name: choice
        for name, each in wordings.items()
        for choice, words in each
        if f" {words} " in request
    }


def _general(asked: list[tuple[str, str]]) -> str | None:
    return GENERAL[len(asked)] if len(asked) < len(GENERAL) else None


def best_effort(request: str, said: Sequence[str]) -> str:
    """Return code for the requested function that always returns one value.

    The value is the last literal that follows "return", "returns", "give", "gives" or "be" in the human's messages;
    without such a literal, the code returns None.
    """
    names = NAME.findall(request)
    found = [literal for words in said for literal in LITERAL.findall(words)]
    value = ast.literal_eval(found[-1]) if found else None
    return f"def {names[-1] if names else 'answer'}(*args, **kwargs):\n    return {value!r}"
