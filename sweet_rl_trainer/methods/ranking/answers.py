"""The shares of answers among candidates (at turns that yield pairs), chosen replies, and rejected replies.

If answers are rarer among the chosen replies than among the candidates, the pairs teach the policy to answer later.
Later answers help a policy that asks too little. With any other policy, they can lead to dialogues without an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from colbench.dialogue import read_move


def is_answer(reply: str) -> bool:
    """Return True if the harness reads a reply as an answer: an answer marker in the private part does not count."""
    return read_move(reply).answer is not None


class AnswerShares:
    """The shares of answers among the replies of each role: candidates, chosen replies and rejected replies."""

    def __init__(self) -> None:
        self._replies = Counter[str]()
        self._answers = Counter[str]()

    def add(self, role: str, replies: Iterable[str]) -> None:
        """Count replies in a role."""
        for text in replies:
            self._replies[role] += 1
            self._answers[role] += is_answer(text)

    def said(self) -> dict[str, float]:
        """Return the share of answers for each role that has replies, keyed by names such as `answers_among_chosen`."""
        return {
            f"answers_among_{role}": self._answers[role] / count
            for role, count in self._replies.items()
        }
