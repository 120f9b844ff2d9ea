"""The human without a model: answers from a task's facts or its reference code, or looks at pages."""

from __future__ import annotations

from collections.abc import Sequence

from colbench.messages import Message
from colbench.pages.render import PageRenderer
from colbench.simulators.facts import FactsHuman
from colbench.simulators.layout import PageHuman
from colbench.simulators.reference.human import CodeHuman
from colbench.task import Task


class KeylessHuman:
    """Deterministic, needs no key, no model and no network."""

    def __init__(self) -> None:
        self._facts = FactsHuman()
        self._code = CodeHuman()
        self._pages = PageHuman()

    def use_renderer(self, renderer: PageRenderer) -> None:
        """What turns pages into pictures."""
        self._pages.use_renderer(renderer)

    async def respond(self, task: Task, dialogue: Sequence[Message]) -> Message:
        """For a page what differs; else an answer from the facts where the task has them, else from the reference."""
        if task.domain == "frontend":
            return await self._pages.respond(task, dialogue)
        human = self._facts if task.hidden.facts else self._code
        return await human.respond(task, dialogue)
