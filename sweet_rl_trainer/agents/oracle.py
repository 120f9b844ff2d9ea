"""The oracle: it asks about all that is open, or writes the best answer that a dialogue allows, by rules.

Like the interviewer it knows the families of tasks, and a task's choices from the dialogue alone. What was not told
gets the family's most usual choice. So an oracle that writes shows what a policy's asking is worth, and one that asks
what its writing is worth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from colbench.errors import AgentError
from colbench.messages import Message
from colbench_agents.interviewer import Interviewer, recognise, stated
from colbench_tasks.family import Choice, Family, Theme, statements

ORACLE = "oracle"


class OracleAsker:
    """The interviewer as a chat model: it asks a question for each decision that is open, then announces an answer."""

    digest = f"{ORACLE} asker"

    def __init__(self, questions: int) -> None:
        """Ask at most `questions` questions. Raises UserError if that is negative."""
        self._interviewer = Interviewer(max_questions=questions)

    async def chat(self, messages: Sequence[Message], **_: Any) -> Message:
        """Return the next question, or the answer."""
        return await self._interviewer.reply(_spoken(messages))


class OracleWriter:
    """Writes the family's own code with the choices that the human has stated, and the usual ones elsewhere."""

    digest = f"{ORACLE} writer"

    async def chat(self, messages: Sequence[Message], *, begun: str = "", **_: Any) -> Message:
        """Return the answer after `begun`. Raises AgentError for a request of no family."""
        request, *later = (each.content for each in _spoken(messages)[::2])
        found = recognise(request)
        if found is None:
            raise AgentError("the request belongs to no family that the oracle knows")
        family, theme = found
        choices = (
            family.usual() | stated(request, family, theme) | dict(_told(family, theme, later))
        )
        return Message(role="assistant", content=f"{begun}\n{family.source(theme, choices)}")


def _spoken(messages: Sequence[Message]) -> list[Message]:
    """Return the dialogue without a system prompt."""
    return [each for each in messages if each.role != "system"]


def _told(family: Family, theme: Theme, replies: Sequence[str]) -> Iterator[tuple[str, Choice]]:
    """Yield each decision that a reply states word for word, as the keyless human does, and its choice."""
    for decision in family.decisions:
        for choice, words in statements(decision, theme):
            if any(words in reply for reply in replies):
                yield decision.name, choice
