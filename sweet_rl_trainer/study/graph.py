"""The stages of a study; nothing is run here.

base        a model with random weights that imitates the demonstrators
collect     the base's dialogues, about training and validation tasks
…           what leads to a method's policy (`pipeline.plan`)
evaluate    the base, or a policy's checkpoint, on tasks
exchange    one checkpoint on the test tasks, with answers that another one writes
timing      how often the scores of candidates favor an answer, by the number of hidden facts
credit      how often these scores agree with returns
score       a critic's scores of the base's dialogues about the validation tasks
judge       the accuracy of these scores, or of the number of turns as a score
"""

from __future__ import annotations

from functools import cached_property, partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from colbench.config import RunConfig
from sweet_rl_trainer.data.runs import named
from sweet_rl_trainer.data.splits import is_held_out, is_in_part
from sweet_rl_trainer.methods import mtdpo, rft
from sweet_rl_trainer.methods.ranking.critic_settings import CriticSettings
from sweet_rl_trainer.methods.ranking.rank import RankSettings
from sweet_rl_trainer.methods.ranking.score import TERMS
from sweet_rl_trainer.methods.sweet import SweetStages
from sweet_rl_trainer.pipeline import inputs
from sweet_rl_trainer.pipeline.base import base
from sweet_rl_trainer.pipeline.iteration import Iteration
from sweet_rl_trainer.pipeline.read import assign, convert
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.pipeline.stage import Source, Stage
from sweet_rl_trainer.study import credit, judge, timing
from sweet_rl_trainer.study.evaluate import AGENT, evaluation, exchange
from sweet_rl_trainer.study.methods import Method
from sweet_rl_trainer.study.scales import Scale

SEEDS = ("data.seed", "train.seed", "sample.seed", "rank.seed")


class Graph:
    """The stages at a scale; `prompt` is an empty file: agents see nothing but what the human says."""

    def __init__(self, scale: Scale, prompt: Path) -> None:
        self.scale = scale
        self._prompt = str(prompt)

    @cached_property
    def base(self) -> Stage:
        """The base model, trained as often as the scale says, each time from the previous result."""
        recipe = convert(self._tables(self.scale.base), "[base]")
        last = _imitating(recipe, base(recipe))
        for _ in range(self.scale.base_rounds - 1):
            last = _imitating(recipe, last)
        return _imitating(self._own, last) if self.scale.own else last

    @property
    def _own(self) -> Recipe:
        """Return the recipe by which the base learns from its own dialogues; in them it sees no more than a policy."""
        tables = self._of_base(self.scale.own)
        for run in tables.get("collect", ()):
            run["agent_prompt"] = self._prompt
        return convert(tables, "[own]")

    def recipe(
        self, method: Method, seed: int, *, rate: float | None = None, share: float = 1.0
    ) -> Recipe:
        """Return the recipe of a method with its own learning rate, or `rate`, on a share of the training tasks."""
        tables = self._of_base(self.scale.recipe)
        run = replace(self.run(self.scale.train, self.scale.trials, seed), record_tokens=True)
        tables["collect"] = [msgspec.to_builtins(run)]
        if method.truncated:
            silent = replace(run, trials=1, agent_args=run.agent_args | {"answers": False})
            tables["negatives"] = [msgspec.to_builtins(silent)]
        changes = {**dict.fromkeys(SEEDS, seed), "data.share": share, **method.changes}
        if rate is not None:
            changes[f"{method.goal}.train.learning_rate"] = rate
        for key, value in changes.items():
            assign(tables, key, value)
        return convert(tables, "[recipe]")

    def policy(self, method: Method, recipe: Recipe) -> Stage:
        """Return the training that makes the policy; the base if there is none."""
        match method.goal:
            case "":
                return self.base
            case "actor":
                return self._sweet(recipe).actor
            case "rft":
                return rft.trained(self._iteration(recipe))
            case "mtdpo":
                return mtdpo.trained(self._iteration(recipe))

    def validation(self, policy: Stage, step: int, seed: int) -> Stage:
        """Return the evaluation of a checkpoint on the validation tasks."""
        return evaluation(policy, self.run(self.scale.validation, 1, seed), step=step)

    def test(self, policy: Stage, step: int, seed: int) -> Stage:
        """Return the evaluation of a checkpoint on the test tasks."""
        return evaluation(
            policy, self.run(self.scale.test, self.scale.test_trials, seed), step=step
        )

    def exchange(self, asker: Stage, writer: Stage, steps: tuple[int, int], seed: int) -> Stage:
        """Return the evaluation of one checkpoint on the test tasks, with answers that another one writes."""
        run = self.run(self.scale.test, self.scale.test_trials, seed)
        return exchange(asker, writer, run, steps=steps)

    def scoring(self, recipe: Recipe) -> Stage | None:
        """Return the scores of a recipe's critic for the same dialogues in all methods.

        Without a critic, they are those of `pmi`; None if no model scores: returns are of replies, not of dialogues.
        """
        if not TERMS[recipe.table(RankSettings).scores]:
            return None
        table, parts = recipe.table(CriticSettings), self._sweet(recipe)
        critic = {judge.CRITIC: parts.critic} if parts.judged else {}
        return Stage(
            name="score",
            act=partial(judge.score, recipe=recipe),
            settings={
                "privileged": table.privileged,
                "token_weights": table.token_weights,
                "max_length": table.max_length,
            },
            inputs={"model": self.base, judge.DIALOGUES: self._judged(recipe), **critic},
        )

    def judgment(self, recipe: Recipe, scores: Stage | None) -> Stage:
        """Return the stage that judges scores of dialogues; without scores, it judges the number of turns as one."""
        pairs = recipe.table(CriticSettings).pairs
        return Stage(
            name="judge",
            act=partial(judge.judge, recipe=recipe),
            settings={
                "pairs": [pairs.rule, pairs.margin],
                "finds": list(judge.Judged.__struct_fields__),
            },
            inputs={
                judge.DIALOGUES: self._judged(recipe),
                **({judge.SCORES: scores} if scores else {}),
            },
        )

    def learning(self, recipe: Recipe) -> Stage | None:
        """Return the pairs of dialogues that a recipe's critic learns from; None without a critic."""
        parts = self._sweet(recipe)
        return parts.critic_data if parts.judged else None

    def _judged(self, recipe: Recipe) -> Stage:
        run = self.run(self.scale.validation, self.scale.best_of, 0)
        return self._iteration(recipe).collecting(replace(run, record_tokens=True))

    def timing(self, recipe: Recipe) -> Stage:
        """Return the stage that measures when the scores of a recipe's actor favor an answer."""
        return Stage(
            name="timing",
            act=partial(timing.timing, recipe=recipe),
            settings={"data": inputs.settings(recipe.data)},
            inputs={
                **self._iteration(recipe).inputs,
                timing.RANKED: self._sweet(recipe).ranked,
            },
        )

    def credit(self, recipe: Recipe | None, returned: Recipe) -> Stage:
        """Return the stage that compares the scores of a recipe's actor with returns, the scores of `returned`.

        Without a recipe, the scores are those of `credit.questions_first`.
        """
        ranked = {credit.RANKED: self._sweet(recipe).ranked} if recipe else {}
        return Stage(
            name="credit",
            act=partial(credit.credit, recipe=returned),
            settings={"data": inputs.settings(returned.data)},
            inputs={
                **self._iteration(returned).inputs,
                **ranked,
                credit.RETURNED: self._sweet(returned).ranked,
            },
        )

    def learnt(self, recipe: Recipe) -> int:
        """Return the number of tasks that a recipe learns from."""
        chosen = recipe.data
        return sum(
            is_in_part(each, chosen.share, chosen.seed)
            and not is_held_out(each, chosen.held_out, chosen.seed)
            for each in self._hashes
        )

    @cached_property
    def _hashes(self) -> list[str]:
        return [task.hash for task in named(self.scale.train)]

    def run(self, tasks: str, trials: int, seed: int) -> RunConfig:
        """Return the configuration of a run of the base model on tasks."""
        return RunConfig(
            agent=AGENT,
            agent_args={"max_tokens": self.scale.max_tokens},
            agent_prompt=self._prompt,
            tasks=tasks,
            trials=trials,
            max_turns=self.scale.max_turns,
            seed=seed,
        )

    def _iteration(self, recipe: Recipe) -> Iteration:
        return Iteration(recipe, self.base, first=True)

    def _sweet(self, recipe: Recipe) -> SweetStages:
        return SweetStages(self._iteration(recipe))

    def _of_base(self, tables: dict[str, Any]) -> dict[str, Any]:
        """Return a recipe's tables with the base as its model: the stage of that name, whatever its folder."""
        return self._tables(tables) | {"model": {"name": "base"}}

    def _tables(self, tables: dict[str, Any]) -> dict[str, Any]:
        """Return a copy of a recipe's tables with the prompt."""
        copy: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(tables))
        assign(copy, "data.system", self._prompt)
        return copy


def _imitating(recipe: Recipe, model: Stage | Source) -> Stage:
    iteration = Iteration(recipe, model, first=True)
    return iteration.exported(rft.trained(iteration))
