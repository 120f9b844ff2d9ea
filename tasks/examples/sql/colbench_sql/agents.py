"""Two rule-based agents: one asks about each decision that a request leaves open, the other guesses."""

from __future__ import annotations

from collections.abc import Sequence

from colbench.messages import ANSWER_MARKER, Message
from colbench_sql.tasks import (
    DECISIONS,
    REPORTS,
    THEMES,
    Decision,
    Option,
    Words,
    fill,
    query,
    words_of,
)


class Asker:
    """An agent that asks at most `max_questions` questions, one about each open decision, then writes the SQL query."""

    domains = ("sql",)

    def __init__(self, *, max_questions: int = len(DECISIONS)) -> None:
        self._max_questions = max_questions

    async def reply(self, dialogue: Sequence[Message]) -> str:
        """Return the next question or the answer; the reply depends only on the dialogue."""
        request, *heard = (message.content for message in dialogue if message.role == "user")
        words = recognize(request)
        if words is None:
            return f"{ANSWER_MARKER}\nSELECT 1"
        left = [decision for decision in DECISIONS if not settled(decision, words, request)]
        if len(heard) < min(len(left), self._max_questions):
            return fill(left[len(heard)].questions[0], words)
        said = " ".join((request, *heard))
        chosen = {each.name: settled(each, words, said) or each.options[0] for each in DECISIONS}
        return f"{ANSWER_MARKER}\n```sql\n{query(words, chosen)}\n```"


class Guesser(Asker):
    """An agent that answers immediately, with the first option of each decision that the request leaves open."""

    def __init__(self) -> None:
        super().__init__(max_questions=0)


def recognize(request: str) -> Words | None:
    """Return the words from which a request was made (`words_of`); None for a request of another domain."""
    known = (words_of(theme, report) for theme in THEMES for report in REPORTS)
    return next((w for w in known if f"{w['place']}: {w['wish']}." in request), None)


def settled(decision: Decision, words: Words, said: str) -> Option | None:
    """Return the option of a decision that the text `said` states; None if the text states no option."""
    return next((option for option in decision.options if fill(option.says, words) in said), None)
