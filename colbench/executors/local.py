"""The executor that runs dialogues in this process, in the running event loop."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from colbench.agent_isolation import process_of
from colbench.audits import InProcess
from colbench.cell_queue import CellSource
from colbench.config import RunConfig
from colbench.descriptors import provide_descriptors
from colbench.executors.audit_process import AuditProcess
from colbench.interfaces import LogKeeper
from colbench.models.servers import current_servers
from colbench.participants import Role, describe_for, learned, start
from colbench.resources import RunResources
from colbench.runner import Runner


def pins_of(agent: Any, human: Any, resources: RunResources) -> dict[str, dict[str, str]]:
    """Return the pins for the run's record: everything about agent, human and scorers that can change results."""
    domains = list(resources.by_domain)
    return {
        "agent": describe_for(agent, domains) | {"process": process_of(agent)},
        "human": describe_for(human, domains),
        **resources.pins,
    }


class LocalExecutor:
    """An executor that runs at most `dialogues` dialogues at a time.

    `log_folder` is for agents that keep a log. With `audits_apart`, another process audits the dialogues. If agent and
    human are None, the executor only scores finished dialogues.
    """

    def __init__(
        self,
        config: RunConfig,
        agent: Any,
        human: Any,
        resources: RunResources,
        *,
        dialogues: int,
        log_folder: Path | None = None,
        audits_apart: bool = False,
    ) -> None:
        self.learned: dict[str, list[str]] = {}
        self._config = config
        self._agent = agent
        self._human = human
        self._resources = resources
        self._dialogues = dialogues
        self._log_folder = log_folder
        self._audits_apart = audits_apart

    @property
    def isolation(self) -> str:
        """Description of how answers are isolated from this machine; known once the executor has started."""
        return self._resources.isolation

    @property
    def environments(self) -> dict[str, str]:
        """Versions and settings of the tools that produce scores, by domain."""
        return self._resources.environments

    @property
    def pins(self) -> dict[str, dict[str, str]]:
        """The pins of the scorers and, if dialogues are run, the pins of agent and human."""
        if self._agent is None:
            return self._resources.pins
        return pins_of(self._agent, self._human, self._resources)

    async def __aenter__(self) -> LocalExecutor:
        provide_descriptors(self._dialogues, self._agent)
        await self._resources.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._resources.__aexit__(*error)

    async def run(self, queue: CellSource) -> None:
        """Start agent and human, then run and score the dialogues in `queue` until the queue is empty.

        An error that stops the dialogues is passed to `queue.stop`. Raises the errors that the queue's methods raise,
        and the errors that `start` raises.
        """
        async with AsyncExitStack() as stack:
            runner = await self.start(stack, self._dialogues)
            try:
                await runner.serve(queue)
            finally:
                self.learned = learned(self._agent, self._human)

    async def start(self, stack: AsyncExitStack, concurrency: int) -> Runner:
        """Start agent, human and, if requested, the audit process, and return a runner.

        The runner runs at most `concurrency` dialogues at a time. Closing the exit stack stops everything that was
        started. Raises UserError if the agent or the human cannot be started. Also raises any other ColBenchError of
        the agent or the human, such as EndpointError.
        """
        current_servers().patience = self._config.endpoint_patience
        if self._log_folder and isinstance(self._agent, LogKeeper):
            self._agent.use_log_folder(self._log_folder)
        roles: tuple[tuple[Role, Any], ...] = (("agent", self._agent), ("human", self._human))
        for role, participant in roles:  # start the agent first: the human may use its server
            await start(stack, role, participant)
        for _, participant in roles:
            self._resources.equip(participant)
        auditor = await stack.enter_async_context(AuditProcess()) if self._audits_apart else None
        return Runner(
            agent=self._agent,
            human=self._human,
            scorers=self._resources.scorers(),
            max_turns=self._config.max_turns,
            concurrency=concurrency,
            dialogue_timeout=self._config.dialogue_timeout,
            scoring_slots=self._resources.workers,
            record_tokens=self._config.record_tokens,
            auditor=auditor or InProcess(),
        )
