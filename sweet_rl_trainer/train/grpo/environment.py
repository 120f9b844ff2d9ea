"""The environment of GRPO: a `colbench.Session` runs and scores dialogues with the harness's human."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any

from msgspec.structs import replace

from colbench.asking.opening import opening
from colbench.cells import Cell
from colbench.config import RunConfig, derive_seed
from colbench.participants import agent_prompt
from colbench.registry import installed_domains
from colbench.rollout import Rollout
from colbench.session import Session
from colbench.task import Task


class Environment:
    """A context manager that runs dialogues on some tasks, in a `colbench.Session` with its own event loop.

    `config` defines the human, the turns, and other settings of `colbench eval`. The agent, the tasks and the trials in
    `config` are ignored. Like `colbench eval`, the constructor raises UserError if one of the other settings is wrong.
    """

    def __init__(self, config: RunConfig, tasks: Sequence[Task]) -> None:
        self.config = config
        self._requests = {task.id: opening(task, config.told) for task in tasks}
        session = replace(
            config, domain=None, tasks="", task_ids=(), limit=None, record_tokens=True
        )
        self._session = Session(session, tasks=tasks)
        self._loop = asyncio.Runner()

    def __enter__(self) -> Environment:
        self._loop.__enter__()
        try:
            self._loop.run(self._session.__aenter__())
        except BaseException:
            self._loop.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._loop.run(self._session.__aexit__(kind, error, trace))
        finally:
            self._loop.close()

    def play(
        self, tasks: Sequence[Task], agent: AbstractAsyncContextManager[Any], *, name: str
    ) -> list[Rollout]:
        """Run dialogues on all tasks concurrently; return the dialogues, with their scores, in the order of the tasks.

        The key of a dialogue consists of `name` and a number. `agent` is a context manager that is opened for these
        dialogues, and gives a StatefulAgent that returns its tokens. A dialogue has the score 0 if the agent failed,
        and no score if the human or the scorer failed. Raises EndpointError if a model server does not respond, and
        UserError if a model server refuses requests.
        """
        cells = [
            Cell(
                task=task,
                trial=n,
                key=f"{name}.{n:05d}",
                seed=derive_seed("grpo", self.config.seed, name, n),
                request=self._requests[task.id],
            )
            for n, task in enumerate(tasks)
        ]

        async def run() -> list[Rollout]:
            async with agent as entered:
                return await self._session.run(entered, cells)

        return self._loop.run(run())


def system_prompts(config: RunConfig) -> dict[str, str]:
    """Return the agent's system prompt for each domain: the content of `config.agent_prompt`, or the built-in prompt.

    Raises UserError if the file cannot be read.
    """
    return {
        domain.name: agent_prompt(config.agent_prompt, domain.name, config.max_turns)
        for domain in installed_domains()
    }
