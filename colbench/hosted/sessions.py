"""Sessions inside other harnesses.

The other harness provides the model, the limits and the log; ColBench provides the tasks, the human and the scorers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import Context
from typing import Any

import msgspec

from colbench.errors import InfrastructureError, UserError
from colbench.interfaces import Agent, StatefulAgent
from colbench.participants import agent_prompt
from colbench.registry import get_domain
from colbench.rollout import Failure, Rollout
from colbench.runner import make_rollout
from colbench.score import Score
from colbench.session import Session

NOT_OURS = {
    "agent",
    "agent_args",
    "agent_endpoint",
    "agent_env",
    "agent_price",
    "agent_sandbox",
    "agent_write",
    "in_process",
    "human_price",
    "trials",
    "concurrency",
    "baseline",
    "ceiling",
    "record_tokens",
}
"""Fields of RunConfig that the other harness controls itself, or that have no effect in another harness."""


class HostedSession:
    """A session that is started when first needed, and stopped when the event loop ends.

    It does not stop at the end of the run, because not all harnesses announce the end. The constructor raises UserError
    for a setting in `NOT_OURS`, and in all cases in which `colbench eval` raises it.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        for name in sorted(NOT_OURS & settings.keys()):
            raise UserError(
                f"{name}: applies only to ColBench's own runs; remove it, or use a setting of the harness instead"
            )
        given = dict(settings)
        domain = given.get("domain")
        if not given.get("tasks") and domain:
            given["tasks"] = get_domain(str(domain)).defaults.tasks
        self.session = Session(**given)
        self.tasks = self.session.tasks
        self.config = self.session.config
        self._kept: asyncio.Task[None] | None = None

    def prompt(self, domain: str, *, pictures: bool = False) -> str:
        """Return the system prompt for a plain model as the agent: the file `agent_prompt` or the built-in prompt."""
        return agent_prompt(self.config.agent_prompt, domain, self.config.max_turns, pictures)

    async def start(self) -> None:
        """Start the sandbox, browser and human unless they are running. Raises UserError if one cannot start."""
        if self._kept is None or self._kept.done():
            self._ready = asyncio.Event()
            self._kept = asyncio.create_task(self._keep(), context=Context())
            self._kept.add_done_callback(lambda _: self._ready.set())
        await self._ready.wait()
        if self._kept.done():
            self._kept.result()

    async def _keep(self) -> None:
        async with self.session:
            self._ready.set()
            await asyncio.Event().wait()

    async def run_dialogue(self, task_id: str, trial: int, agent: Agent | StatefulAgent) -> Rollout:
        """Run a dialogue and return it unscored. Raises InfrastructureError if anything other than the agent failed."""
        task = self.tasks[task_id]
        return _settled(await self.session.run_dialogue(agent, task, trial))

    def unfinished(self, task_id: str, trial: int, reason: str) -> Rollout:
        """Return the rollout of a dialogue that the other harness cut short; it counts as a failure of the agent."""
        return make_rollout(
            self.session.cell(self.tasks[task_id], trial),
            turns=(),
            ending=None,
            failure=Failure(boundary="agent", reason=reason),
            started="",
            seconds=0.0,
        )

    async def score(self, rollout: Rollout) -> Rollout:
        """Return the rollout with its verdicts. Raises InfrastructureError if it cannot be scored."""
        return _settled(await self.session.score(rollout, self.tasks[rollout.task_id]))

    def verdict(self, rollout: Rollout) -> Score:
        """Return the verdict of the configured scoring mode."""
        return rollout.scores[self.config.scoring]


_sessions: dict[bytes, HostedSession] = {}


def session_for(settings: Mapping[str, Any]) -> HostedSession:
    """Return the session of these settings; the same settings always give the same session.

    Raises UserError if a setting is wrong or this machine lacks something that the domain needs.
    """
    key = msgspec.json.encode(settings, order="sorted")
    if key not in _sessions:
        _sessions[key] = HostedSession(settings)
    return _sessions[key]


def measures(score: Score, domain: str) -> dict[str, float]:
    """Return success (1 or 0) and the primary metric of a verdict, by name; a value that is missing is left out."""
    own = get_domain(domain)
    found = {metric.name: metric.of(score) for metric in (own.success, own.primary) if metric}
    return {name: value for name, value in found.items() if value is not None}


def _settled(rollout: Rollout) -> Rollout:
    if rollout.failure and not rollout.settled:
        raise InfrastructureError(f"{rollout.failure.boundary}: {rollout.failure.reason}")
    return rollout
