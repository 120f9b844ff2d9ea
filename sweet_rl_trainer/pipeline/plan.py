"""The stages of a recipe, in order.

    [base], [collect], …the method's stages…, export, [evaluate]

`base` exists only if the recipe requests a model with random weights. `[[collect]]` makes `collect` stages in every
iteration, except in the first one if the recipe names dialogues. `[[negatives]]` and `[[collect_privileged]]` make
further `collect` stages for the methods that use them. After each `export`, each table `[[evaluate]]` of the recipe
makes an `evaluate` stage. A later iteration starts from the policy that the previous iteration exported, and the
agents in `[[collect]]` use this policy as `{model}`.
"""

from __future__ import annotations

from functools import partial

from sweet_rl_trainer.pipeline import dialogues, missing
from sweet_rl_trainer.pipeline.base import EXPORT, base
from sweet_rl_trainer.pipeline.iteration import Iteration
from sweet_rl_trainer.pipeline.method import find_method, method_of
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.pipeline.stage import Stage, order


def plan(recipe: Recipe, goal: str | None = None, *, offline: bool = False) -> list[Stage]:
    """Return the stages that lead to a goal, by default to the policy of the recipe's method.

    A goal of another method replaces the recipe's method. Raises UserError if the goal is unknown, if a run, file or
    model that the recipe names does not exist, or if the recipe neither names nor collects dialogues.

    With `offline`, nothing is downloaded. Missing models, and dialogues that are neither named nor collected, then
    raise no error. They become sources without a path: the work can be counted, but the plan cannot be run.
    """
    method = method_of(goal) if goal else find_method(recipe.method)
    model = base(recipe, offline=offline)
    found = {model.key: model} if isinstance(model, Stage) else {}
    for number in range(recipe.iterations):
        last = number == recipe.iterations - 1
        iteration = Iteration(recipe, model, first=number == 0, offline=offline)
        ends = method.stages(iteration, goal if goal and last else method.policy)
        stages = [stage for end in ends for stage in order(end)]
        model = stages[-1]
        found |= {each.key: each for each in (*stages, *_evaluations(recipe, model))}
    return list(found.values())


def _evaluations(recipe: Recipe, last: Stage) -> list[Stage]:
    """Return the evaluations of the policy; empty unless the last stage exports a policy."""
    runs = recipe.evaluate if last.name == EXPORT else ()
    return [
        Stage(
            name="evaluate",
            act=partial(dialogues.evaluate, config=config),
            settings=dialogues.settings(config),
            inputs={"model": last},
            estimate=partial(missing.of_dialogues, config=config),
        )
        for config in runs
    ]
