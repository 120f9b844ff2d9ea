"""One iteration of a recipe: its initial model and dialogues, and the stages that all methods share.

The shared stages collect dialogues, train and export. A method (`method.Method`) combines them with its own stages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import msgspec

from colbench.config import RunConfig
from colbench.errors import UserError
from sweet_rl_trainer.pipeline import dialogues, examples, export, inputs, missing, training, view
from sweet_rl_trainer.pipeline.base import EXPORT
from sweet_rl_trainer.pipeline.recipe import MODEL_PLACEHOLDER, Recipe
from sweet_rl_trainer.pipeline.stage import Amount, Known, Source, Stage
from sweet_rl_trainer.settings import TrainSettings

Inputs = dict[str, Stage | Source]


class Iteration:
    """One iteration of a recipe, which starts from `model`."""

    def __init__(
        self, recipe: Recipe, model: Stage | Source, *, first: bool, offline: bool = False
    ) -> None:
        self.recipe = recipe
        self.model = model
        self._first = first
        self.offline = offline

    @cached_property
    def inputs(self) -> Inputs:
        """The model and the dialogues.

        Raises UserError if a run or file that the recipe names does not exist.

        If the recipe neither names nor collects dialogues, UserError is raised, unless `offline` is set. With
        `offline`, the dialogues are then a source without a path.
        """
        recipe = self.recipe
        named = inputs.sources(recipe.data)
        if self._first and recipe.data.given:
            return {"model": self.model, **named}
        if not recipe.collect and self.offline:
            absent = Source(path=None, key=inputs.RUNS, missing=missing.no_dialogues(recipe))
            return {"model": self.model, inputs.RUNS: absent, **named}
        if not recipe.collect:
            raise UserError(missing.no_dialogues(recipe))
        collected = self._collected(inputs.COLLECTED, recipe.collect)
        extra = {name: each for name, each in named.items() if name.startswith(inputs.NEGATIVES)}
        return {"model": self.model, **collected, **extra}

    def require_tasks(self, method: str) -> None:
        """Raise UserError if no dialogue comes from a run, because only runs have tasks that a method can read."""
        data = self.recipe.data
        if self._first and data.given and not data.runs:
            raise UserError(
                f"{method}: needs the tasks of the dialogues, and only runs have tasks; set data.runs, or remove the "
                "dialogues from [data] and collect new ones ([[collect]])"
            )

    @property
    def privileged(self) -> Inputs:
        """Stages that collect dialogues of agents that know the privileged information c."""
        return self._collected(inputs.PRIVILEGED, self.recipe.collect_privileged)

    @property
    def truncated(self) -> Inputs:
        """Stages that collect dialogues to reject; only dialogues that reach the turn limit are used."""
        return self._collected(inputs.TRUNCATED, self.recipe.negatives)

    def _collected(self, name: str, configs: Sequence[RunConfig]) -> Inputs:
        return {f"{name}{n}": self.collecting(config) for n, config in enumerate(configs)}

    def collecting(self, config: RunConfig) -> Stage:
        """Return the stage that collects the dialogues of a run."""
        return Stage(
            name="collect",
            act=partial(dialogues.collect, config=config),
            settings=dialogues.settings(config),
            inputs={"model": self.model} if MODEL_PLACEHOLDER in config.agent else {},
            estimate=partial(missing.of_dialogues, config=config),
        )

    def stage(
        self,
        name: str,
        act: Callable[..., dict[str, Any]],
        settings: Any,
        needed: Mapping[str, Stage | Source],
        **options: Any,
    ) -> Stage:
        """Return a stage that depends on the dialogues and on the chat template.

        Args:
            name: The stage's name.
            act: Called with the job and `recipe`.
            settings: Everything else that the output depends on, as plain values.
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
        self,
        name: str,
        make: Callable[..., examples.TrainingData],
        more: Inputs | None = None,
        **settings: Any,
    ) -> Stage:
        """Return the stage `NAME-data`, which makes the examples of a training stage.

        Args:
            name: The name of the training stage.
            make: Called with the dialogues, the chat template and the settings (`examples.Maker`).
            more: Inputs besides the model and the dialogues.
            settings: Everything that the examples depend on in addition to the inputs. The settings are part of the
                stage's key as plain values, so the examples are made again if a setting changes.
        """
        maker: examples.Maker = partial(make, **settings)
        return self.stage(
            f"{name}-data",
            partial(examples.make, maker=maker),
            plain(settings),
            {**self.inputs, **(more or {})},
            estimate=partial(examples.estimate, recipe=self.recipe, maker=maker),
            view=view.examples,
        )

    def training(
        self,
        name: str,
        settings: TrainSettings,
        made: Stage,
        *,
        reference: bool = False,
        model: Source | None = None,
    ) -> Stage:
        """Return a training stage on the examples of another stage.

        Pairs train either a value model, or a language model (critic or policy) with a reference model. Single examples
        are imitated.

        Args:
            name: The stage's name.
            settings: The training settings.
            made: The stage with the examples (`examples`).
            reference: True if the objective has a reference model, which is the model before training.
            model: A separate vision model to start from; by default the iteration's model.
        """
        recipe = self.recipe
        return Stage(
            name=name,
            act=partial(
                training.train,
                settings=settings,
                adapters=recipe.lora,
                launch=recipe.launch,
                reference=reference,
                pictured=model is not None,
            ),
            settings={"train": plain(settings), "lora": plain(recipe.lora)},
            inputs={"model": model or self.model, "data": made},
            estimate=partial(training.estimate, settings=settings, recipe=recipe),
            shows=training.SHOWN,
            view=training.view,
        )

    def online(
        self, name: str, act: Any, settings: Any, estimate: Callable[[Known], Amount]
    ) -> Stage:
        """Return a training stage that runs its own dialogues."""
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
            view=training.view,
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
    """Convert settings to built-in types, such as dicts and lists."""
    return msgspec.to_builtins(value)
