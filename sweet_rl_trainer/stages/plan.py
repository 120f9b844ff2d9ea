"""The stages of a recipe.

    sweet   base, collect, critic-data, critic, diagnose, sample, rank, diagnose, actor, export
    rft     base, collect, rft-data, rft, export
    mtdpo   base, collect, mtdpo-data, mtdpo, export
    grpo    base, grpo, export

and `evaluate` after each `export`, where a recipe says how (`[[evaluate]]`). `base` is only made where it asks for a
model with random weights, `collect` only where it names no dialogues. A later iteration begins with what the one before
exported: the base, and `{model}` of those who talk in `[[collect]]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any, Literal, get_args

import msgspec

from colbench.config import RunConfig
from colbench.errors import UserError
from sweet_rl_trainer.ranking.score import TERMS
from sweet_rl_trainer.recipe import CriticSettings, MtdpoSettings, Recipe, RftSettings
from sweet_rl_trainer.stages import (
    base,
    collect,
    data,
    diagnose,
    evaluate,
    examples,
    export,
    grpo,
    rank,
    sample,
)
from sweet_rl_trainer.stages.stage import Source, Stage, order
from sweet_rl_trainer.stages.training import train

Goal = Literal["critic", "diagnose", "sample", "rank", "actor", "rft", "mtdpo", "grpo"]
GOALS: tuple[Goal, ...] = get_args(Goal)
POLICIES: tuple[Goal, ...] = ("actor", "rft", "mtdpo", "grpo")
"""Goals that end with a policy, from which the next iteration starts."""
EXPORT = "export"
Inputs = dict[str, Stage | Source]


def plan(recipe: Recipe, goal: Goal | None = None) -> list[Stage]:
    """The stages that lead to the goal, by default to that of the recipe's method, in order; a policy is exported.

    Raises UserError for files or models that are not there, and where there is nothing to learn from.
    """
    method: Goal = "actor" if recipe.method == "sweet" else recipe.method
    given = base.base(recipe)
    found: dict[str, Stage] = {given.key: given} if isinstance(given, Stage) else {}
    goal = goal or method
    for number in range(recipe.iterations):
        last = number == recipe.iterations - 1
        wanted = goal if last or goal in POLICIES else method
        stages = Iteration(recipe, given, first=number == 0).stages(wanted)
        given = stages[-1]
        found |= {each.key: each for each in (*stages, *_evaluations(recipe, given))}
    return list(found.values())


def _evaluations(recipe: Recipe, last: Stage) -> list[Stage]:
    """Of the policy, if the last stage exported one."""
    runs = recipe.evaluate if last.name == EXPORT else ()
    return [
        Stage(
            name="evaluate",
            act=partial(evaluate.evaluate, config=config),
            settings=collect.settings(config),
            inputs={"model": last},
        )
        for config in runs
    ]


class Iteration:
    """The stages of one iteration, which starts from `model`."""

    def __init__(self, recipe: Recipe, model: Stage | Source, *, first: bool) -> None:
        self.recipe = recipe
        self.model = model
        self._first = first

    def stages(self, goal: Goal) -> list[Stage]:
        """Those that lead to the goal; before an actor is trained, its critic is diagnosed."""
        lasts = {
            "critic": lambda: [self.critic],
            "diagnose": lambda: [self.diagnosis()],
            "sample": lambda: [self.sampled],
            "rank": lambda: [self.ranked],
            "actor": lambda: [*self.checks(), self.exported(self.actor)],
            "rft": lambda: [self.exported(self.baseline("rft", self.recipe.rft))],
            "mtdpo": lambda: [self.exported(self.baseline("mtdpo", self.recipe.mtdpo))],
            "grpo": lambda: [self.exported(self.grpo)],
        }
        needed = (stage for last in lasts[goal]() for stage in order(last))
        return list({stage.key: stage for stage in needed}.values())

    @cached_property
    def inputs(self) -> Inputs:
        """The model and the dialogues."""
        recipe = self.recipe
        named = data.sources(recipe.data)
        if self._first and (recipe.data.runs or recipe.data.official):
            return {"model": self.model, **named}
        if not recipe.collect:
            raise UserError(
                "data.runs: give run folders (--runs), trajectory files (data.official) or a [[collect]] table"
            )
        collected = self._collected(data.COLLECTED, recipe.collect)
        extra = {name: each for name, each in named.items() if name.startswith(data.NEGATIVES)}
        return {"model": self.model, **collected, **extra}

    @property
    def privileged(self) -> Inputs:
        """Dialogues collected with privileged information, of agents that know c."""
        return self._collected(data.PRIVILEGED, self.recipe.collect_privileged)

    @property
    def truncated(self) -> Inputs:
        """Dialogues of which those that were truncated at the turn limit are rejected ones."""
        return self._collected(data.TRUNCATED, self.recipe.negatives)

    def _collected(self, name: str, configs: Sequence[RunConfig]) -> Inputs:
        return {f"{name}{n}": self.collecting(config) for n, config in enumerate(configs)}

    def collecting(self, config: RunConfig) -> Stage:
        """One run of the harness."""
        return Stage(
            name="collect",
            act=partial(collect.collect, config=config),
            settings=collect.settings(config),
            inputs={"model": self.model} if collect.MODEL in config.agent else {},
        )

    @cached_property
    def critic_data(self) -> Stage:
        """Pairs of dialogues, with c."""
        table = self.recipe.critic
        settings = _of_pairs(table) | {"privileged": table.privileged}
        return self._examples("critic", table, settings, self.truncated)

    @cached_property
    def critic(self) -> Stage:
        """Phase 1."""
        referred = self.recipe.critic.train.score == "log-ratio"
        return self._training("critic", self.critic_data, referred=referred)

    def diagnosis(self, more: Inputs | None = None) -> Stage:
        """What the critic is worth; `more` may be the ranked candidates."""
        table = self.recipe.critic
        settings = {
            "diagnose": _plain(self.recipe.diagnose),
            "privileged": table.privileged,
            "token_weights": table.token_weights,
            "max_length": table.max_length,
        }
        needed = {**self.inputs, "data": self.critic_data, "critic": self.critic, **(more or {})}
        return self._stage("diagnose", diagnose.diagnose, settings, needed)

    def checks(self) -> list[Stage]:
        """The diagnoses, as soon as they can be had."""
        if not self.judged:
            return []
        return [self.diagnosis(), self.diagnosis({diagnose.RANKED: self.ranked})]

    @property
    def judged(self) -> bool:
        """Whether a critic scores the candidates."""
        return any(term.of == "critic" for term in TERMS[self.recipe.rank.scores])

    @cached_property
    def sampled(self) -> Stage:
        """The candidates."""
        settings: dict[str, Any] = _plain(self.recipe.sample)
        for name in ("server", "server_args", "concurrency"):  # where a server is does not matter
            del settings[name]
        here = self.recipe.sample.server == sample.IN_PROCESS
        settings["in-process"] = self.recipe.actor.train.precision if here else None
        return self._stage("sample", sample.sample, settings, self.inputs)

    @cached_property
    def ranked(self) -> Stage:
        """Their scores, and pairs of them."""
        recipe = self.recipe
        settings: dict[str, Any] = _plain(recipe.rank)
        del settings["row_tokens"]
        if not recipe.rank.calibrate:  # what was ranked before there was this setting is found
            del settings["calibrate"]
        if recipe.rank.scores != "returns":
            del settings["continuations"]
        settings["precision"] = recipe.critic.train.precision
        settings["loading"] = _plain(base.loading(recipe.critic.train.precision, recipe.lora))
        settings["privileged"] = recipe.critic.privileged
        settings["max_length"] = [recipe.critic.max_length, recipe.actor.max_length]
        settings["token_weights"] = recipe.actor.token_weights
        judge: Inputs = {rank.CRITIC: self.critic} if self.judged else {}
        needed = {**self.inputs, "candidates": self.sampled, **judge}
        return self._stage("rank", rank.rank, settings, needed)

    @cached_property
    def actor(self) -> Stage:
        """Phase 2."""
        return self._training("actor", self.ranked, referred=True)

    def baseline(self, name: Literal["rft", "mtdpo"], table: RftSettings | MtdpoSettings) -> Stage:
        """RFT or multi-turn DPO."""
        if isinstance(table, MtdpoSettings):
            made = self._examples(name, table, _of_pairs(table), self.truncated)
        else:
            settings = {"at_least": table.at_least, "max_length": table.max_length}
            privileged = self.privileged
            templates = {"privileged": table.privileged} if privileged else {}
            made = self._examples(name, table, settings | templates, privileged)
        return self._training(name, made, referred=isinstance(table, MtdpoSettings))

    @cached_property
    def grpo(self) -> Stage:
        """GRPO, which has dialogues of its own."""
        table = self.recipe.grpo
        settings = {
            "train": _plain(table.train),
            "dialogues": collect.settings(table.dialogues),
            "domain": self.recipe.domain,
            "template": self.recipe.model.template_args,
            "lora": _plain(self.recipe.lora),
        }
        act = partial(grpo.train, recipe=self.recipe)
        return Stage(name="grpo", act=act, settings=settings, inputs={"model": self.model})

    def exported(self, trained: Stage) -> Stage:
        """A policy as a checkpoint to serve."""
        return Stage(
            name=EXPORT,
            act=partial(export.write, dtype=self.recipe.export.dtype),
            settings=_plain(self.recipe.export),
            inputs={"model": self.model, "trained": trained},
        )

    def _examples(
        self,
        name: str,
        table: CriticSettings | MtdpoSettings | RftSettings,
        settings: Any,
        more: Inputs | None = None,
    ) -> Stage:
        act = partial(examples.make, table=table)
        return self._stage(f"{name}-data", act, settings, {**self.inputs, **(more or {})})

    def _training(
        self, name: Literal["critic", "actor", "rft", "mtdpo"], made: Stage, *, referred: bool
    ) -> Stage:
        recipe = self.recipe
        settings = getattr(recipe, name).train
        return Stage(
            name=name,
            act=partial(
                train,
                settings=settings,
                adapters=recipe.lora,
                launch=recipe.launch,
                referred=referred,
            ),
            settings={"train": _plain(settings), "lora": _plain(recipe.lora)},
            inputs={"model": self.model, "data": made},
        )

    def _stage(self, name: str, act: Any, settings: Any, inputs: Inputs) -> Stage:
        """A stage that reads the dialogues and speaks by the chat template."""
        whole = {
            "own": settings,
            "data": data.settings(self.recipe.data),
            "template": self.recipe.model.template_args,
        }
        return Stage(name=name, act=partial(act, recipe=self.recipe), settings=whole, inputs=inputs)


def _of_pairs(table: CriticSettings | MtdpoSettings) -> dict[str, Any]:
    """What examples of pairs depend on."""
    return {
        "pairs": _plain(table.pairs),
        "token_weights": table.token_weights,
        "max_length": table.max_length,
    }


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)
