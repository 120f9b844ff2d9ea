"""The rule-based human: a simulated human that needs no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from colbench.domain import Resources
from colbench.interfaces import HumanSimulator
from colbench.messages import Message
from colbench.registry import get_domain
from colbench.task import Task


class KeylessHuman:
    """A deterministic human, which replies by the rules of the task's domain. It needs no key, model or network."""

    def __init__(self) -> None:
        self._resources: Mapping[str, Resources] = {}
        self._humans: dict[str, HumanSimulator] = {}

    def use_resources(self, resources: Mapping[str, Resources]) -> None:
        """Set the started resources of each domain, by the domain's name; the domain's human uses them."""
        self._resources = resources
        self._humans = {}

    async def respond(self, task: Task, dialogue: Sequence[Message]) -> Message | str:
        """Return the human's reply to the agent's last message."""
        if task.domain not in self._humans:
            resources = self._resources.get(task.domain)
            self._humans[task.domain] = get_domain(task.domain).keyless_human(resources)
        return await self._humans[task.domain].respond(task, dialogue)
