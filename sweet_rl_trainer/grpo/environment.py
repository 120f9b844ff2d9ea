"""The environment of GRPO: dialogues with the harness's human, judged by its scorers, as in `colbench eval`.

The one module of the trainer that runs the harness.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, get_args

from colbench.cli.equipment import Equipment
from colbench.cli.evaluate import plugin_args, start
from colbench.config import RunConfig, derive_seed
from colbench.errors import UserError
from colbench.interfaces import Viewer
from colbench.plugins import resolve
from colbench.rollout import Rollout
from colbench.runner import Cell, Runner
from colbench.task import Domain, Task
from colbench_agents.model import builtin_prompt


class Environment:
    """Made for some tasks; while it is entered, sandbox, browser and human are ready.

    `config` says who the human is, how many turns there are, and what else `colbench eval` would want to know; its
    agent, tasks and trials are not looked at. An event loop of its own runs while dialogues are had.
    Raises UserError as `colbench eval` does.
    """

    def __init__(self, config: RunConfig, tasks: Sequence[Task]) -> None:
        self.config = config
        self._equipment = Equipment(config, tasks)
        self._human = resolve("human", config.human, plugin_args(config, "human"))
        self._loop = asyncio.Runner()
        self._running = AsyncExitStack()

    def __enter__(self) -> Environment:
        self._loop.__enter__()
        try:
            self._loop.run(self._start())
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
            self._loop.run(self._running.aclose())
        finally:
            self._loop.close()

    async def _start(self) -> None:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._equipment)
            await start(stack, "human", self._human)
            if self._equipment.renderer and isinstance(self._human, Viewer):
                self._human.use_renderer(self._equipment.renderer)
            self._running = stack.pop_all()

    def play(
        self, tasks: Sequence[Task], agent: AbstractAsyncContextManager[Any], *, name: str
    ) -> list[Rollout]:
        """A scored dialogue on each task, all at once, in the order of the tasks; keys are `name` and a number.

        `agent` is a StatefulAgent that gives its tokens, and is entered for these dialogues. What the agent cannot do
        is a rollout with the score 0, and what human or scorer cannot do one without. Raises UserError, and
        EndpointError when a model server is gone.
        """
        cells = [
            Cell(task=task, trial=n, key=f"{name}.{n:05d}", seed=derive_seed("grpo", name, n))
            for n, task in enumerate(tasks)
        ]
        found: dict[str, Rollout] = {}

        def done(rollout: Rollout) -> None:
            found[rollout.key] = rollout

        async def run() -> None:
            async with agent as entered:
                await self._runner(entered, len(cells)).run(cells, {}, done)

        self._loop.run(run())
        return [found[cell.key] for cell in cells]

    def _runner(self, agent: Any, count: int) -> Runner:
        return Runner(
            agent=agent,
            human=self._human,
            scorers=self._equipment.scorers(),
            max_turns=self.config.max_turns,
            concurrency=count,
            dialogue_timeout=self.config.dialogue_timeout,
            scoring_slots=self._equipment.workers,
            record_tokens=True,
        )


def system_prompts(config: RunConfig) -> dict[Domain, str]:
    """The agent's system prompt for each domain: that of `agent_prompt`, else the built-in one.

    Raises UserError if the file cannot be read.
    """
    own = _read(config.agent_prompt) if config.agent_prompt else None
    return {
        domain: (own or builtin_prompt(domain, single_turn=False, pictures=False)).replace(
            "{max_turns}", str(config.max_turns)
        )
        for domain in get_args(Domain)
    }


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise UserError(f"agent_prompt: {path} cannot be read: {cause}") from cause
