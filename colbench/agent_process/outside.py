"""Code shared by all agents that run outside this process and speak the agent protocol."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, TypeVar

from colbench.agent_process.protocol import Ready
from colbench.errors import AgentError, EndpointError, UserError

T = TypeVar("T")


class OutsideAgent(ABC):
    """An agent outside this process; `spec` is the value of `--agent`."""

    spec: str
    advice = "; see docs/agent-protocol.md"
    """End of the error message that reports an agent without a description."""

    @abstractmethod
    async def introduce(self) -> Ready:
        """Request the agent's description.

        Raises AgentError, EndpointError or UserError if the agent does not give its description.
        """

    @cached_property
    def ready(self) -> Ready:
        """The agent's description, requested at first use. Raises UserError if the agent does not give it."""
        try:
            return _blocking(self.introduce())
        except (AgentError, EndpointError) as cause:
            raise UserError(f"--agent {self.spec}: {cause}{self.advice}") from cause

    @property
    def accepts_images(self) -> bool:
        """True if the agent should be shown pictures of its pages."""
        return self.ready.accepts_images

    @property
    def domains(self) -> tuple[str, ...] | None:
        """The domains that the agent supports; None if it supports every domain."""
        return self.ready.domains

    @property
    def records_tokens(self) -> bool:
        """True if the agent's replies can carry their tokens."""
        return self.ready.records_tokens

    @property
    def single_process(self) -> str:
        """The reason why a run with this agent must have a single process; "" if it can have several."""
        return self.ready.single_process

    def describe(self) -> dict[str, str]:
        """Return the agent's pins for the run's record: properties from `ready`, and the agent's own description.

        Raises UserError if the agent does not send `ready`.
        """
        return {
            "protocol": self.ready.protocol,
            "name": self.ready.name,
            "version": self.ready.version,
            "accepts_images": str(self.accepts_images).lower(),
            **self.ready.description,
        }

    def describe_domain(self, domain: str) -> dict[str, str]:
        """Return the agent's pins for a run with tasks of one domain.

        Raises UserError with the agent's own message if the agent cannot describe itself for that domain.
        """
        said = self.ready.domain_descriptions.get(domain, {})
        if isinstance(said, str):
            raise UserError(f"--agent {self.spec}: {said}")
        return said


def _blocking(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine from a plain function, whether or not an event loop is running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
