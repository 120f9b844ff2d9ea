"""The oracle: rules that ask about every open decision, or write the best answer that a dialogue allows.

Like the interviewer, the oracle knows the families of tasks, but learns a task's choices only from the dialogue. For a
decision that was not revealed, it takes the family's usual choice, which is the first choice that the family lists. In
`two_model.TwoModelAgent`, one of the two models can be the oracle and the other a policy. If the oracle writes the
answers, the score measures the policy's questions. If the oracle asks, the score measures the policy's answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from colbench.errors import AgentError
from colbench.messages import Message
from colbench_agents.interviewer import Interviewer, recognize, stated
from colbench_tasks.family import Choice, Family, Theme, statements

ORACLE = "oracle"


class OracleAsker:
    """The interviewer as a chat model: it asks about open decisions, at most `questions` times, then answers."""

    digest = f"{ORACLE} asker"

    def __init__(self, questions: int) -> None:
        """Create an asker of at most `questions` questions. Raises UserError if `questions` is negative."""
        self._interviewer = Interviewer(max_questions=questions)

    async def chat(self, messages: Sequence[Message], **_: Any) -> Message:
        """Return the next question, or the answer."""
        return await self._interviewer.reply(_spoken(messages))


class OracleWriter:
    """A chat model that answers with the task family's own code for the choices that the human has stated.

    A decision that the human has not stated gets the family's usual choice.
    """

    digest = f"{ORACLE} writer"

    async def chat(self, messages: Sequence[Message], *, begun: str = "", **_: Any) -> Message:
        """Return `begun` followed by the answer. Raises AgentError if the request belongs to no task family."""
        request, *later = (each.content for each in _spoken(messages)[::2])
        found = recognize(request)
        if found is None:
            raise AgentError("the oracle does not know the request's task family")
        family, theme = found
        choices = (
            family.usual() | stated(request, family, theme) | dict(_told(family, theme, later))
        )
        return Message(role="assistant", content=f"{begun}\n{family.source(theme, choices)}")


def _spoken(messages: Sequence[Message]) -> list[Message]:
    """Return the dialogue without its system prompt, if it has one."""
    return [each for each in messages if each.role != "system"]


def _told(family: Family, theme: Theme, replies: Sequence[str]) -> Iterator[tuple[str, Choice]]:
    """Yield, for each statement that a reply contains word for word, the decision's name and the stated choice."""
    for decision in family.decisions:
        for choice, words in statements(decision, theme):
            if any(words in reply for reply in replies):
                yield decision.name, choice
