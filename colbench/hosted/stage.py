"""The stage that ColBench sets in another harness: its tasks, its human and its scorers, without an agent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from contextvars import Context
from pathlib import Path
from typing import Any

import msgspec

from colbench.cli.equipment import Equipment
from colbench.cli.evaluate import plugin_args, start
from colbench.cli.options import in_words
from colbench.cli.selection import find_tasks
from colbench.config import RunConfig, digest
from colbench.errors import InfrastructureError, UserError
from colbench.interfaces import Agent, Scorer, StatefulAgent, Viewer
from colbench.plugins import describe, resolve
from colbench.rollout import Failure, Rollout, cell_seed
from colbench.runner import Cell, Runner
from colbench.score import Score
from colbench.task import Domain
from colbench_agents.model import builtin_prompt

NOT_OURS = {
    "agent",
    "agent_args",
    "agent_endpoint",
    "agent_env",
    "agent_price",
    "agent_sandbox",
    "human_price",
    "trials",
    "concurrency",
    "baseline",
    "record_tokens",
}
"""Fields of RunConfig for which the other harness has words of its own."""


class Stage:
    """Made from settings, which are fields of RunConfig; once started, dialogues can be had on it.

    Raises UserError as `colbench eval` does.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        config, tasks = find_tasks(_config(settings))
        self.config = config
        self.tasks = {task.id: task for task in tasks}
        self._human = resolve("human", config.human, plugin_args(config, "human"))
        self._equipment = Equipment(config, tasks)
        self._scorers: Mapping[Domain, Scorer] = {}
        self._kept: asyncio.Task[None] | None = None

    def describe(self) -> dict[str, Any]:
        """What a result depends on, for the record."""
        return {"config": self.config.pins(), "human": describe(self._human)}

    def prompt(self, domain: Domain, *, pictures: bool = False) -> str:
        """The system prompt of an agent that is a plain model: that of `openai:`, or the file `agent_prompt`."""
        own = self.config.agent_prompt
        prompt = _read(own) if own else builtin_prompt(domain, single_turn=False, pictures=pictures)
        return prompt.replace("{max_turns}", str(self.config.max_turns))

    async def start(self) -> None:
        """Start sandbox, browser and human, unless they are; they are stopped when the event loop ends.

        Other harnesses end it after a run, and not all of them say before that a run is over. Raises UserError.
        """
        if self._kept is None or self._kept.done():
            self._ready = asyncio.Event()
            self._kept = asyncio.create_task(self._keep(), context=Context())
            self._kept.add_done_callback(lambda _: self._ready.set())
        await self._ready.wait()
        if self._kept.done():
            self._kept.result()

    async def _keep(self) -> None:
        async with AsyncExitStack() as stack:
            equipment = await stack.enter_async_context(self._equipment)
            await start(stack, "human", self._human)
            if equipment.renderer and isinstance(self._human, Viewer):
                self._human.use_renderer(equipment.renderer)
            self._scorers = equipment.scorers()
            self._ready.set()
            await asyncio.Event().wait()

    async def converse(self, task_id: str, trial: int, agent: Agent | StatefulAgent) -> Rollout:
        """A dialogue, not yet scored. Raises InfrastructureError when it could not be had, through no agent's fault."""
        return _settled(await self._runner(agent).converse(self._cell(task_id, trial)))

    def unfinished(self, task_id: str, trial: int, reason: str) -> Rollout:
        """What becomes of a dialogue that the other harness cut short: the agent failed."""
        cell = self._cell(task_id, trial)
        return Rollout(
            key=cell.key,
            task_id=task_id,
            task_hash=cell.task.hash,
            domain=cell.task.domain,
            trial=trial,
            seed=cell.seed,
            request=cell.task.request,
            turns=(),
            answer=None,
            ended_by="failure",
            failure=Failure(boundary="agent", reason=reason),
        )

    async def score(self, rollout: Rollout) -> Rollout:
        """The rollout with its verdicts. Raises InfrastructureError when there are none, through no agent's fault."""
        return _settled(await self._runner(None).score(self.tasks[rollout.task_id], rollout))

    def verdict(self, rollout: Rollout) -> Score:
        """The verdict of the wanted scoring mode."""
        return rollout.scores[self.config.scoring]

    def _cell(self, task_id: str, trial: int) -> Cell:
        task = self.tasks[task_id]
        key = digest([task.id, task.hash, trial, self.config.pins()])
        seed = cell_seed(self.config.seed, task.id, task.hash, trial)
        return Cell(task=task, trial=trial, key=key, seed=seed)

    def _runner(self, agent: Any) -> Runner:
        return Runner(
            agent=agent,
            human=self._human,
            scorers=self._scorers,
            max_turns=self.config.max_turns,
            concurrency=1,
            dialogue_timeout=self.config.dialogue_timeout,
            scoring_slots=self._equipment.workers,
        )


_stages: dict[bytes, Stage] = {}


def stage_for(settings: Mapping[str, Any]) -> Stage:
    """The stage of these settings: one, whoever asks. Raises UserError."""
    key = msgspec.json.encode(settings, order="sorted")
    if key not in _stages:
        _stages[key] = Stage(settings)
    return _stages[key]


def measures(score: Score, domain: Domain) -> dict[str, float]:
    """The numbers of a verdict by name, without those that there are not; `success` is 1 or 0."""
    name = "tests_passed" if domain == "backend" else "cosine"
    found = {"success": score.success, name: score.value}
    return {key: float(value) for key, value in found.items() if value is not None}


def _settled(rollout: Rollout) -> Rollout:
    if rollout.failure and not rollout.settled:
        raise InfrastructureError(f"{rollout.failure.boundary}: {rollout.failure.reason}")
    return rollout


def _config(settings: Mapping[str, Any]) -> RunConfig:
    for name in sorted(NOT_OURS & settings.keys()):
        raise UserError(f"{name}: the harness that runs ColBench decides this; leave it out")
    try:
        return msgspec.convert(dict(settings), RunConfig, strict=False)
    except msgspec.ValidationError as cause:
        said, _, where = str(cause).partition(" - at `$.")
        raise UserError(f"{where.strip('`') or 'settings'}: {in_words(said)}") from cause


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise UserError(f"agent_prompt: {path} cannot be read: {cause}") from cause
