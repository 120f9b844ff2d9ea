"""The rule-based human of backend programming."""

from __future__ import annotations

from collections.abc import Sequence

from colbench.domains.backend.human.human import CodeHuman
from colbench.facts.human import FactsHuman
from colbench.messages import Message
from colbench.task import Task


class BackendHuman:
    """A human who answers from a task's facts or, for a task without facts, from the reference code."""

    def __init__(self) -> None:
        self._facts = FactsHuman()
        self._code = CodeHuman()

    async def respond(self, task: Task, dialogue: Sequence[Message]) -> Message:
        """Return the human's answer to the agent's last message.

        For a task without facts, raises SimulatorError if the reference cannot be read.
        """
        human = self._facts if task.hidden.facts else self._code
        return await human.respond(task, dialogue)
