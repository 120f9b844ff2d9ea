"""One iteration of a recipe: what all methods share.

The model and the dialogues that it starts from, and stages that collect, train and export. A method (`method.Method`)
puts its own stages together from these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import msgspec

from colbench.config import RunConfig
from colbench.errors import UserError
from sweet_rl_trainer.pipeline import dialogues, examples, export, inputs, training
from sweet_rl_trainer.pipeline.base import EXPORT
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.pipeline.stage import Amount, Known, Source, Stage
from sweet_rl_trainer.settings import TrainSettings

Inputs = dict[str, Stage | Source]


class Iteration:
    """One iteration of a recipe, which starts from `model`."""

    def __init__(self, recipe: Recipe, model: Stage | Source, *, first: bool) -> None:
        self.recipe = recipe
        self.model = model
        self._first = first

    @cached_property
    def inputs(self) -> Inputs:
        """The model and the dialogues. Raises UserError if there are none, and none can be collected."""
        recipe = self.recipe
        named = inputs.sources(recipe.data)
        if self._first and recipe.data.given:
            return {"model": self.model, **named}
        if not recipe.collect:
            raise UserError(
                "data.runs: give run folders (--runs), trajectory files (data.official), own dialogues (data.chats) "
                "or a [[collect]] table"
            )
        collected = self._collected(inputs.COLLECTED, recipe.collect)
        extra = {name: each for name, each in named.items() if name.startswith(inputs.NEGATIVES)}
        return {"model": self.model, **collected, **extra}

    @property
    def privileged(self) -> Inputs:
        """Dialogues of agents that know c."""
        return self._collected(inputs.PRIVILEGED, self.recipe.collect_privileged)

    @property
    def truncated(self) -> Inputs:
        """Dialogues of which those that were truncated at the turn limit are rejected ones."""
        return self._collected(inputs.TRUNCATED, self.recipe.negatives)

    def _collected(self, name: str, configs: Sequence[RunConfig]) -> Inputs:
        return {f"{name}{n}": self.collecting(config) for n, config in enumerate(configs)}

    def collecting(self, config: RunConfig) -> Stage:
        """Return a run of the harness."""
        return Stage(
            name="collect",
            act=partial(dialogues.collect, config=config),
            settings=dialogues.settings(config),
            inputs={"model": self.model} if dialogues.MODEL in config.agent else {},
        )

    def stage(
        self,
        name: str,
        act: Callable[..., dict[str, Any]],
        settings: Any,
        needed: Mapping[str, Stage | Source],
        **options: Any,
    ) -> Stage:
        """Return a stage that reads the dialogues and writes by the chat template.

        Args:
            name: The stage's name.
            act: Called with the job and `recipe`.
            settings: All that the output depends on besides the inputs, the dialogues and the template: plain values.
            needed: The inputs.
            options: Further fields of the stage.
        """
        whole = {
            "own": settings,
            "data": inputs.settings(self.recipe.data),
            "template": self.recipe.model.template_args,
        }
        act = partial(act, recipe=self.recipe)
        return Stage(name=name, act=act, settings=whole, inputs=needed, **options)

    def examples(
        self, name: str, maker: examples.Maker, settings: Any, more: Inputs | None = None
    ) -> Stage:
        """Return the stage that makes the examples of the training `name`; `more` are further inputs."""
        return self.stage(
            f"{name}-data",
            partial(examples.make, maker=maker),
            settings,
            {**self.inputs, **(more or {})},
            estimate=partial(examples.estimate, recipe=self.recipe, maker=maker),
        )

    def training(self, name: str, settings: TrainSettings, made: Stage, *, referred: bool) -> Stage:
        """Return a training on the examples of another stage.

        Args:
            name: The stage's name.
            settings: How to train.
            made: The stage with the examples.
            referred: True if the objective has a reference model.
        """
        recipe = self.recipe
        return Stage(
            name=name,
            act=partial(
                training.train,
                settings=settings,
                adapters=recipe.lora,
                launch=recipe.launch,
                referred=referred,
            ),
            settings={"train": plain(settings), "lora": plain(recipe.lora)},
            inputs={"model": self.model, "data": made},
            estimate=partial(training.estimate, settings=settings, recipe=recipe),
            shows=training.SHOWN,
        )

    def online(
        self, name: str, act: Any, settings: Any, estimate: Callable[[Known], Amount]
    ) -> Stage:
        """Return a training that has dialogues of its own."""
        settings = {
            **settings,
            "domain": self.recipe.domain,
            "template": self.recipe.model.template_args,
            "lora": plain(self.recipe.lora),
        }
        return Stage(
            name=name,
            act=partial(act, recipe=self.recipe),
            settings=settings,
            inputs={"model": self.model},
            estimate=estimate,
            shows=training.SHOWN,
        )

    def exported(self, trained: Stage) -> Stage:
        """Return the stage that exports a policy as a checkpoint to serve."""
        return Stage(
            name=EXPORT,
            act=partial(export.write, dtype=self.recipe.export.dtype),
            settings=plain(self.recipe.export),
            inputs={"model": self.model, "trained": trained},
        )


def plain(value: Any) -> Any:
    """Return settings as plain values."""
    return msgspec.to_builtins(value)
