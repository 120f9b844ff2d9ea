"""The stages of a study. This module defines them, and does not run them.

base        a model that imitates the demonstrators
collect     dialogues of the current policy on the training tasks
…           the stages that train an arm's policy (`pipeline.method`), several times (`Graph.iterations`)
evaluate    the base, or a policy, on tasks
exchange    one model asks, and another model writes the answer
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from colbench.config import RunConfig
from sweet_rl_trainer.data.runs import named
from sweet_rl_trainer.methods import rft
from sweet_rl_trainer.pipeline.base import base
from sweet_rl_trainer.pipeline.iteration import Iteration
from sweet_rl_trainer.pipeline.method import method_of
from sweet_rl_trainer.pipeline.read import assign, convert
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.pipeline.stage import Source, Stage
from sweet_rl_trainer.study.arms import Arm
from sweet_rl_trainer.study.evaluate import AGENT, Speaker, evaluation, exchange
from sweet_rl_trainer.study.world import World

SEEDS = ("data.seed", "train.seed", "sample.seed", "rank.seed", "grpo.train.seed")
APART = 1000
"""The difference between the seeds of consecutive iterations."""
AT_ONCE = 256
"""Number of a policy's dialogues that run at the same time. In a larger batch, replies take less time on average."""


class Graph:
    """The stages of the study that `world` defines.

    `prompt` is the path of an empty file. Agents with this system prompt see only the human's messages.
    """

    def __init__(self, world: World, prompt: Path) -> None:
        self.world = world
        self._prompt = str(prompt)

    @cached_property
    def base(self) -> Stage:
        """The stage that exports the base model."""
        recipe = convert(self._tables(self.world.base), "[base]")
        made = _imitating(recipe, base(recipe))
        return _imitating(self._own, made) if self.world.own else made

    @property
    def _own(self) -> Recipe:
        """The recipe for training the base on its own dialogues, with the policies' empty prompt as system prompt."""
        tables = self._of_base(self.world.own)
        for run in tables.get("collect", ()):
            run["agent_prompt"] = self._prompt
        return convert(tables, "[own]")

    def recipe(self, arm: Arm, seed: int, rate: float, number: int = 0) -> Recipe:
        """Return an arm's recipe for the iteration `number`, counted from 0."""
        tables = self._of_base(self.world.recipe)
        seed += APART * number
        run = self.run(self.world.train, self.world.trials * arm.dialogues, seed)
        tables["collect"] = [msgspec.to_builtins(replace(run, record_tokens=True))]
        tables["grpo"]["dialogues"] = msgspec.to_builtins(run)
        changes = {**dict.fromkeys(SEEDS, seed), **arm.changes}
        changes[f"{arm.goal}.train.learning_rate"] = rate
        for key, value in changes.items():
            assign(tables, key, value)
        return convert(tables, "[recipe]")

    def iterations(self, arm: Arm) -> int:
        """Return the number of iterations of an arm in this world."""
        return min(arm.iterations, self.world.iterations)

    def policies(self, arm: Arm, seed: int, rate: float) -> list[Stage]:
        """Return the stages that export an arm's policy, one per iteration; for an untrained arm, only the base."""
        if not arm.goal:
            return [self.base]
        found, model = [], self.base
        for number in range(self.iterations(arm)):
            iteration = Iteration(self.recipe(arm, seed, rate, number), model, first=True)
            model = method_of(arm.goal).stages(iteration, arm.goal)[-1]
            found.append(model)
        return found

    def validation(self, policy: Stage, seed: int) -> Stage:
        """Return the evaluation of a policy on the validation tasks."""
        return evaluation(policy, self.run(self.world.validation, 1, seed))

    @cached_property
    def validation_tasks(self) -> int:
        """The number of validation tasks."""
        return len(named(self.world.validation))

    def test(self, policy: Stage, seed: int) -> Stage:
        """Return the evaluation of a policy on the test tasks."""
        return evaluation(policy, self.run(self.world.test, 1, seed))

    def exchange(self, asker: Speaker, writer: Speaker, seed: int) -> Stage:
        """Return the stage that evaluates one model's questions with another model's answers, on the test tasks."""
        return exchange(asker, writer, self.run(self.world.test, 1, seed))

    def run(self, tasks: str, trials: int, seed: int) -> RunConfig:
        """Return the configuration with which a policy is run on tasks."""
        return RunConfig(
            agent=AGENT,
            agent_args={"max_tokens": self.world.max_tokens, "rows": AT_ONCE},
            agent_prompt=self._prompt,
            tasks=tasks,
            trials=trials,
            max_turns=self.world.max_turns,
            seed=seed,
            concurrency=AT_ONCE,
        )

    def _of_base(self, tables: dict[str, Any]) -> dict[str, Any]:
        """Return a recipe's tables with "base" as the model's name; a stage supplies the actual model."""
        return self._tables(tables) | {"model": {"name": "base"}}

    def _tables(self, tables: dict[str, Any]) -> dict[str, Any]:
        """Return a copy of a recipe's tables with the empty prompt as the system prompt."""
        copy: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(tables))
        assign(copy, "data.system", self._prompt)
        return copy


def _imitating(recipe: Recipe, model: Stage | Source) -> Stage:
    iteration = Iteration(recipe, model, first=True)
    return iteration.exported(rft.trained(iteration))
