"""The stages of a recipe.

    base -> collect -> critic-data -> critic -> diagnose
                                   \\> sample -> rank -> actor -> export        method sweet, an iteration
    base -> collect -> rft-data -> rft -> export                                                           rft
    base -> collect -> mtdpo-data -> mtdpo -> export                                                       mtdpo

`base` is only made where a recipe asks for a model with random weights, `collect` only where it names no dialogues. A
later iteration begins with what the one before exported, as base and as the agent whose dialogues are collected.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, get_args

import msgspec

from sweet_rl_trainer.ranking.score import TERMS
from sweet_rl_trainer.recipe import Recipe
from sweet_rl_trainer.stages import base, collect, data, diagnose, examples, export, rank, sample
from sweet_rl_trainer.stages.stage import Source, Stage, order
from sweet_rl_trainer.stages.training import train

Target = Literal["run", "critic", "diagnose", "sample", "rank", "actor", "rft", "mtdpo"]
"""What is to be done: all of the recipe's method, or what leads to one stage; a model is exported, too."""
TARGETS: tuple[Target, ...] = get_args(Target)
Inputs = dict[str, Stage | Source]


def plan(recipe: Recipe, target: Target = "run") -> list[Stage]:
    """The stages that lead to the target, in order. Raises UserError for files or models that are not there."""
    given = base.base(recipe)
    found: list[Stage] = [given] if isinstance(given, Stage) else []
    for iteration in range(recipe.iterations):
        stages = _iteration(recipe, target, given, first=iteration == 0)
        found += [each for each in stages if each.key not in {known.key for known in found}]
        given = found[-1]
    return found


def _iteration(
    recipe: Recipe, target: Target, model: Stage | Source, *, first: bool
) -> list[Stage]:
    dialogues = _dialogues(recipe, model, first=first)
    inputs: Inputs = {"model": model, **dialogues}
    goal = target
    if target == "run":
        goal = "actor" if recipe.method == "sweet" else recipe.method
    if goal in {"rft", "mtdpo"}:
        return order(_export(recipe, model, _baseline(recipe, goal, inputs)))
    critic = _critic(recipe, inputs)
    match goal:
        case "critic":
            return order(critic)
        case "diagnose":
            return order(_diagnose(recipe, inputs, critic))
    sampled = _stage("sample", sample.sample, recipe, _sampling(recipe), inputs)
    if goal == "sample":
        return order(sampled)
    needed = any(term.of == "critic" for term in TERMS[recipe.rank.scores])
    judge: Inputs = {rank.CRITIC: critic} if needed else {}
    ranked = _stage(
        "rank", rank.rank, recipe, _ranking(recipe), {**inputs, "candidates": sampled, **judge}
    )
    if goal == "rank":
        return order(ranked)
    before = (
        [
            *order(_diagnose(recipe, inputs, critic)),
            *order(_diagnose(recipe, inputs, critic, ranked)),
        ]
        if needed
        else []
    )
    actor = _training("actor", recipe, {"model": model, "data": ranked}, referred=True)
    after = order(_export(recipe, model, actor))
    return list({each.key: each for each in (*before, *after)}.values())


def _dialogues(recipe: Recipe, model: Stage | Source, *, first: bool) -> Inputs:
    named = data.sources(recipe.data)
    if first and (recipe.data.runs or recipe.data.official):
        return dict(named)
    runs = [each for each in recipe.collect if first or collect.MODEL in each.agent]
    from_model = any(collect.MODEL in each.agent for each in runs)
    stage = Stage(
        name="collect",
        act=partial(collect.collect, runs=runs),
        settings=[each.pins() | collect.selection(each) for each in runs],
        inputs={"model": model} if from_model else {},
    )
    negatives = {name: each for name, each in named.items() if name.startswith(data.NEGATIVES)}
    return {data.COLLECTED: stage, **negatives}


def _critic(recipe: Recipe, inputs: Inputs) -> Stage:
    settings = {name: _plain(getattr(recipe.critic, name)) for name in _EXAMPLES}
    made = _stage(
        "critic-data",
        partial(examples.make, table=recipe.critic),
        recipe,
        {**settings, "hidden": recipe.critic.hidden},
        inputs,
    )
    return _training(
        "critic",
        recipe,
        {"model": inputs["model"], "data": made},
        referred=recipe.critic.train.score == "log-ratio",
    )


_EXAMPLES = ("pairs", "weights", "max_length")
"""What of a training's table its examples depend on."""


def _baseline(recipe: Recipe, goal: Literal["rft", "mtdpo"], inputs: Inputs) -> Stage:
    table = recipe.rft if goal == "rft" else recipe.mtdpo
    names = ("at_least", "max_length") if goal == "rft" else _EXAMPLES
    made = _stage(
        f"{goal}-data",
        partial(examples.make, table=table),
        recipe,
        {name: _plain(getattr(table, name)) for name in names},
        inputs,
    )
    needed: Inputs = {"model": inputs["model"], "data": made}
    return _training(goal, recipe, needed, referred=goal == "mtdpo")


def _diagnose(recipe: Recipe, inputs: Inputs, critic: Stage, ranked: Stage | None = None) -> Stage:
    made = critic.inputs["data"]
    settings = {
        "diagnose": recipe.diagnose,
        "hidden": recipe.critic.hidden,
        "weights": recipe.critic.weights,
        "max_length": recipe.critic.max_length,
    }
    needed: Inputs = {**inputs, "data": made, "critic": critic}
    if ranked:
        needed[diagnose.RANKED] = ranked
    return _stage("diagnose", diagnose.diagnose, recipe, settings, needed)


def _training(
    name: Literal["critic", "actor", "rft", "mtdpo"],
    recipe: Recipe,
    inputs: Inputs,
    *,
    referred: bool,
) -> Stage:
    table = getattr(recipe, name)
    return Stage(
        name=name,
        act=partial(
            train,
            settings=table.train,
            adapters=recipe.lora,
            launch=recipe.launch,
            referred=referred,
        ),
        settings={"train": _plain(table.train), "lora": _plain(recipe.lora)},
        inputs=inputs,
    )


def _export(recipe: Recipe, model: Stage | Source, trained: Stage) -> Stage:
    return Stage(
        name="export",
        act=partial(export.write, dtype=recipe.export.dtype),
        settings=_plain(recipe.export),
        inputs={"model": model, "trained": trained},
    )


def _sampling(recipe: Recipe) -> dict[str, Any]:
    settings: dict[str, Any] = _plain(recipe.sample)
    for name in ("server_args", "concurrency"):
        del settings[name]
    return settings | {"server": recipe.sample.server == sample.IN_PROCESS}


def _ranking(recipe: Recipe) -> dict[str, Any]:
    settings = {name: value for name, value in _plain(recipe.rank).items() if name != "row_tokens"}
    return {
        **settings,
        "hidden": recipe.critic.hidden,
        "max_length": [recipe.critic.max_length, recipe.actor.max_length],
        "weights": recipe.actor.weights,
    }


def _stage(name: str, act: Any, recipe: Recipe, settings: Any, inputs: Inputs) -> Stage:
    """A stage that reads the trajectories and speaks by the chat template."""
    whole = {
        "own": _plain(settings),
        "data": data.settings(recipe.data),
        "template": recipe.model.template_args,
    }
    return Stage(name=name, act=partial(act, recipe=recipe), settings=whole, inputs=inputs)


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)
