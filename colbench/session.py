"""A session: a simulated human and scorers, kept ready for dialogues that the caller or an agent drives."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from colbench.asking.opening import opening
from colbench.cells import Cell
from colbench.clock import Clock, supervised
from colbench.config import RunConfig, digest
from colbench.config_values import config_of
from colbench.dialogue import Dialogue
from colbench.errors import UserError
from colbench.interfaces import Agent, HumanSimulator, Scorer, StatefulAgent
from colbench.loop_watch import watched_loop
from colbench.messages import Message
from colbench.models.servers import current_servers
from colbench.participants import describe_for, find_participant, require_object, spec_of, start
from colbench.plugins import require_method
from colbench.registry import get_domain
from colbench.resources import RunResources
from colbench.rollout import Rollout, Turn, cell_seed
from colbench.run_folder import now
from colbench.runner import Runner, make_rollout
from colbench.score import Score
from colbench.selection import find_tasks, require_tasks, select
from colbench.task import Task


class Step(Struct, frozen=True, kw_only=True):
    """The result of one reply of the agent."""

    turn: Turn
    """The turn created by the agent's reply, with the human's reply unless the turn was the last one."""
    message: Message | None = None
    """The human's reply; None at the end of the dialogue."""
    rollout: Rollout | None = None
    """The whole dialogue with its verdicts; None before the end."""

    @property
    def done(self) -> bool:
        """True if the dialogue has ended."""
        return self.rollout is not None

    @property
    def scores(self) -> dict[str, Score]:
        """The verdicts by scoring mode; empty until the dialogue has ended."""
        return self.rollout.scores if self.rollout else {}


class Talk:
    """One dialogue, driven step by step by the caller, who plays the agent."""

    def __init__(self, session: Session, cell: Cell, images: bool) -> None:
        config = session.config
        self._session = session
        self._cell = cell
        self._dialogue = Dialogue(
            cell.task,
            session.human,
            max_turns=config.max_turns,
            images=images,
            request=cell.request,
        )
        self._started, self._start = now(), time.perf_counter()
        self._asked = self._start

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages so far, the human's request first. The agent may see these messages, but never the task."""
        return self._dialogue.messages

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns so far."""
        return tuple(self._dialogue.turns)

    async def step(self, reply: Message | str) -> Step:
        """Process the agent's next reply, and return the human's reply or, at the end, the verdicts.

        Raises AgentError if the reply is not a message, and UserError if the dialogue has ended or if a model server
        refuses the key or the URL. Raises InfrastructureError if the human or its model server fails, or if the domain
        cannot read the answer; the same reply can then be sent again. A failure of the scorer becomes the rollout's
        failure.
        """
        if self._dialogue.ending:
            raise UserError("this dialogue has ended; start a new one")
        seconds, before = time.perf_counter() - self._asked, len(self._dialogue.turns)
        limit = self._session.config.dialogue_timeout
        try:
            await supervised(
                lambda abandon: self._dialogue.step(
                    reply, seconds=seconds, clock=Clock(limit, abandon=abandon)
                )
            )
        except BaseException:
            del self._dialogue.turns[before:]
            raise
        turn = self._dialogue.turns[-1]
        if self._dialogue.ending is None:
            self._asked = time.perf_counter()
            return Step(turn=turn, message=self.messages[-1])
        rollout = make_rollout(
            self._cell,
            turns=self._dialogue.turns,
            ending=self._dialogue.ending,
            failure=None,
            started=self._started,
            seconds=time.perf_counter() - self._start,
        )
        return Step(turn=turn, rollout=await self._session.score(rollout, self._cell.task))


class Session:
    """A simulated human and scorers, started when the context is opened and stopped when it is closed.

    Args:
        config: The configuration; its agent and its number of trials are ignored.
        tasks: A source, as for `--tasks`, or a list of tasks. If only `domain` is set, `Session.tasks` is empty, and
            dialogues can be about any task of that domain. Default: the bundled tasks of backend programming.
        human: A spec, as for `--human`, or an object with `async def respond(task, messages)`.
        settings: Fields of `RunConfig`, which replace the same fields of `config`.

    Raises UserError if an argument is wrong, or if this machine lacks something that the domains need.
    """

    def __init__(
        self,
        config: RunConfig | None = None,
        *,
        tasks: str | Sequence[Task] = "",
        human: str | HumanSimulator = "",
        **settings: Any,
    ) -> None:
        texts = {"tasks": tasks, "human": human}
        settings |= {name: text for name, text in texts.items() if isinstance(text, str) and text}
        self.config = config_of({**asdict(config or RunConfig()), **settings})
        self.tasks: dict[str, Task] = {task.id: task for task in self._find_tasks(tasks)}
        """The tasks of the source by id; empty if only a domain was named."""
        domains = [self.config.domain] if self.config.domain and not self.tasks else []
        self.resources = RunResources(self.config, list(self.tasks.values()), domains)
        if not isinstance(human, str):
            require_object("human", human, self.config)
        self.human: Any = (
            find_participant("human", self.config) if isinstance(human, str) else human
        )
        self._scorers: Mapping[str, Scorer] = {}
        self._stack = AsyncExitStack()

    def _find_tasks(self, tasks: str | Sequence[Task]) -> list[Task]:
        if not isinstance(tasks, str):
            return select(require_tasks(tasks), self.config)
        if not self.config.tasks and self.config.domain:
            get_domain(self.config.domain)
            return []
        self.config, found = find_tasks(self.config)
        return found

    async def __aenter__(self) -> Session:
        async with AsyncExitStack() as stack:
            stack.enter_context(watched_loop())
            await stack.enter_async_context(self.resources)
            current_servers().patience = self.config.endpoint_patience
            await start(stack, "human", self.human)
            self.resources.equip(self.human)
            self._scorers = self.resources.scorers()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    def describe(self) -> dict[str, Any]:
        """Return everything that a result depends on, to be recorded with the result."""
        domains = list(self.resources.by_domain)
        return {
            "config": self.config.pins(),
            "human": {"spec": spec_of(self.human), **describe_for(self.human, domains)},
            **self.resources.pins,
        }

    def start(self, task: Task, *, trial: int = 0, images: bool = False) -> Talk:
        """Return a new dialogue on a task; `images`: True if the agent is shown pictures of its pages.

        Raises UserError if `task` is not a task, or if the setting `told` is `all` and the task's decisions are not
        known.
        """
        return Talk(self, self.cell(task, trial), images)

    async def run_dialogue(
        self, agent: Agent | StatefulAgent, task: Task, trial: int = 0
    ) -> Rollout:
        """Run a dialogue with an agent and return it unscored; see `Runner.run_dialogue` for the errors.

        Raises UserError if `agent` is not an agent object, or if `task` is not a task.
        """
        _require_agent(agent)
        return await self.runner(agent, concurrency=1).run_dialogue(self.cell(task, trial))

    async def run(
        self, agent: Agent | StatefulAgent, cells: Sequence[Cell], *, concurrency: int | None = None
    ) -> list[Rollout]:
        """Run and score dialogues with an agent, at most `concurrency` (default: all) at a time.

        Returns the rollouts in the order of `cells`; see `Runner.run` for the errors. The failure of a dialogue is not
        raised, but recorded in its rollout. Raises UserError if `agent` is not an agent object, or if `cells` is not a
        sequence of cells.
        """
        _require_agent(agent)
        _require_cells(cells)
        found: dict[str, Rollout] = {}

        def done(rollout: Rollout) -> None:
            found[rollout.key] = rollout

        runner = self.runner(agent, concurrency=concurrency or len(cells) or 1)
        await runner.run(cells, {}, done)
        return [found[cell.key] for cell in cells]

    async def score(self, rollout: Rollout, task: Task) -> Rollout:
        """Return the rollout with its verdicts; a failure of the scorer becomes the rollout's failure."""
        return await self.runner(None, concurrency=1).score(task, rollout)

    def cell(self, task: Task, trial: int = 0) -> Cell:
        """Return the cell (one planned dialogue) of a task and a trial, with the seed that an evaluation would use.

        Raises UserError if `task` is not a task, or if the setting `told` is `all` and the task's decisions are not
        known.
        """
        if not isinstance(task, Task):
            raise UserError(f"task: expected a Task, such as one of Session.tasks, got {task!r}")
        return Cell(
            task=task,
            trial=trial,
            key=digest([task.id, task.hash, trial, self.config.pins()]),
            seed=cell_seed(self.config.seed, task.id, task.hash, trial),
            request=opening(task, self.config.told),
        )

    def runner(self, agent: Any, *, concurrency: int) -> Runner:
        """Return a runner for dialogues between an agent and this session's human."""
        return Runner(
            agent=agent,
            human=self.human,
            scorers=self._scorers,
            max_turns=self.config.max_turns,
            concurrency=concurrency,
            dialogue_timeout=self.config.dialogue_timeout,
            scoring_slots=self.resources.workers,
            record_tokens=self.config.record_tokens,
        )


def _require_agent(agent: object) -> None:
    if isinstance(agent, str):
        raise UserError(
            f"agent: expected an object with `async def reply(self, dialogue)`, got {agent!r}; only colbench.evaluate "
            "accepts a spec"
        )
    require_method("agent", agent, "agent")


def _require_cells(cells: object) -> None:
    if not isinstance(cells, Sequence) or not all(isinstance(each, Cell) for each in cells):
        raise UserError(
            "cells: expected a list of cells; write [session.cell(task) for task in tasks]"
        )
