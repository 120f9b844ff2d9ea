r"""Dialogues with a recorded beginning: an agent and a human for `colbench eval` that first repeat a script.

    colbench eval --agent sweet_rl_trainer.agents.replay:PrefixAgent --agent-arg plan=FILE \
                  --human sweet_rl_trainer.agents.replay:PrefixHuman --human-arg plan=FILE --tasks …

When the script ends, the agent and the human that the plan specifies take over. `continuations` writes the plan and
starts the command. This module imports neither PyTorch nor other parts of the trainer; the plan's agent or human may
import them.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from colbench.config import ArgValue
from colbench.dialogue import opened
from colbench.errors import DataError
from colbench.interfaces import Agent, Episode, ResourceUser, Viewer
from colbench.messages import Message
from colbench.pages.render import PageRenderer
from colbench.plugins import Kind, describe, describe_domain, resolve
from colbench.rollout import cell_seed
from colbench.task import Task


class Script(Struct, frozen=True, kw_only=True):
    """The scripted beginning of the dialogues on a task."""

    task_id: str
    """An ID that is unique in the plan, so that equal tasks can be distinguished."""
    task_hash: str
    heard: tuple[str, ...]
    """The human's messages, the request first."""
    replies: tuple[str, ...]
    """The agent's messages, one for each message of the human."""


class Plan(Struct, frozen=True, kw_only=True):
    """The scripted beginnings of a run's dialogues, and the agent and human that continue them."""

    agent: str
    agent_args: dict[str, ArgValue]
    human: str
    human_args: dict[str, ArgValue]
    seed: int
    """The seed of the run."""
    trials: int
    scripts: tuple[Script, ...]


def distinguishable(plan: Plan) -> Plan:
    """Return the plan; its seed is increased until any two dialogues differ in their request or their dialogue seed."""
    while len(_replies(plan)) < len(plan.scripts) * plan.trials:
        plan = replace(plan, seed=plan.seed + 1)
    return plan


def _replies(plan: Plan) -> dict[tuple[str, int], tuple[str, ...]]:
    """Return the agent's replies by request and seed, the only values by which the agent can identify a dialogue."""
    return {
        (
            script.heard[0],
            cell_seed(plan.seed, script.task_id, script.task_hash, trial),
        ): script.replies
        for script in plan.scripts
        for trial in range(plan.trials)
    }


class _Prefix:
    """The base class of `PrefixAgent` and `PrefixHuman`: it has the plan, and the participant that takes over."""

    kind: Kind

    def __init__(self, *, plan: str) -> None:
        """Read the plan from a file.

        Raises DataError if the plan is damaged, UserError if the agent or the simulated human that continues the
        dialogues cannot be created.
        """
        try:
            content = Path(plan).read_bytes()
            self.plan = msgspec.json.decode(content, type=Plan)
        except (OSError, msgspec.DecodeError) as cause:
            raise DataError(f"{plan} is not a plan of continuations: {cause}") from cause
        self._digest = hashlib.sha256(content).hexdigest()
        spec, args = (getattr(self.plan, f"{self.kind}{part}") for part in ("", "_args"))
        self.then: Any = resolve(self.kind, spec, args)
        self.single_process: str = getattr(self.then, "single_process", "")
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> _Prefix:
        if hasattr(self.then, "__aenter__"):
            await self._stack.enter_async_context(self.then)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    def use_renderer(self, renderer: PageRenderer) -> None:
        """Pass the renderer on to the participant that takes over."""
        if isinstance(self.then, Viewer):
            self.then.use_renderer(renderer)

    def use_resources(self, resources: Mapping[str, Any]) -> None:
        """Pass the resources on to the participant that takes over."""
        if isinstance(self.then, ResourceUser):
            self.then.use_resources(resources)

    def describe(self) -> dict[str, str]:
        """Return the participant's entry in the record of the run."""
        return {"plan": f"sha256:{self._digest}"} | _then(describe(self.then))

    def describe_domain(self, domain: str) -> dict[str, str]:
        """Return the participant's additional entries for the domain `domain` in the record of the run."""
        return _then(describe_domain(self.then, domain))


def _then(described: Mapping[str, str]) -> dict[str, str]:
    return {f"then_{name}": value for name, value in described.items()}


class PrefixAgent(_Prefix):
    """An agent that first gives the replies of a script; the plan's agent then takes over.

    Raises DataError if two dialogues of the plan have the same request and the same seed (see `distinguishable`).
    """

    kind: Kind = "agent"

    def __init__(self, *, plan: str) -> None:
        super().__init__(plan=plan)
        self.domains = getattr(self.then, "domains", None)
        self._replies = _replies(self.plan)
        if len(self._replies) < len(self.plan.scripts) * self.plan.trials:
            raise DataError(
                f"{plan}: two of its dialogues have the same request and seed; change `seed` in the plan"
            )

    @asynccontextmanager
    async def open(self, episode: Episode) -> AsyncIterator[Agent]:
        """Yield the agent of one dialogue."""
        async with opened(self.then, episode) as then:
            yield _Speaker(self._replies, episode.seed, then)


class _Speaker:
    def __init__(
        self, replies: dict[tuple[str, int], tuple[str, ...]], seed: int, then: Agent
    ) -> None:
        self.accepts_images = getattr(then, "accepts_images", False)
        self._replies = replies
        self._seed = seed
        self._then = then

    async def reply(self, dialogue: Sequence[Message]) -> Message | str:
        script = self._replies[dialogue[0].content, self._seed]
        turn = len(dialogue) // 2
        return script[turn] if turn < len(script) else await self._then.reply(dialogue)


class PrefixHuman(_Prefix):
    """A human that first repeats the human's messages in a script; the plan's human then takes over."""

    kind: Kind = "human"

    def __init__(self, *, plan: str) -> None:
        super().__init__(plan=plan)
        self._heard = {script.task_id: script.heard for script in self.plan.scripts}

    async def respond(self, task: Task, dialogue: Sequence[Message]) -> Message | str:
        """Return the human's next message."""
        script = self._heard[task.id]
        turn = len(dialogue) // 2
        said: Message | str = (
            script[turn] if turn < len(script) else await self.then.respond(task, dialogue)
        )
        return said
