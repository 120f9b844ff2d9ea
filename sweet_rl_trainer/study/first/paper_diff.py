"""The settings of a study, and those that differ from the paper's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from colbench.errors import UserError
from colbench.numbers import NOTHING, count
from sweet_rl_trainer.pipeline.paper_diff import STAGES, paper_diff
from sweet_rl_trainer.pipeline.read import convert, paper_recipe
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.study.first.methods import Method
from sweet_rl_trainer.study.first.tables import full_label
from sweet_rl_trainer.study.text import code, escape, plain, table


def methods(members: Iterable[Method]) -> str:
    """Return the table of the changes that each method makes to the shared recipe."""
    lines = [
        [
            escape(full_label(each)),
            escape(each.what),
            code(each.goal),
            ", ".join(code(f"{key} = {plain(value)}") for key, value in _changes(each)) or NOTHING,
        ]
        for each in members
    ]
    return table(("method", "in words", "training", "changes of the recipe"), lines)


STEPS = {
    "rft": "dialogues",
    "mtdpo": "pairs of dialogues",
    "critic": "pairs of dialogues",
    "actor": "pairs of replies to the same turn",
}
"""The examples of a step of each training."""


def budget(study: Mapping[str, Any]) -> str | None:
    """Return the table of the length and the batch of each training; None if the study has no readable recipe."""
    recipe = shared(study)
    if recipe is None:
        return None
    trainings = {name: recipe.tables[name].train for name in STEPS}
    lines = [
        [
            code(name),
            count(each.max_steps, "step") if each.max_steps else count(each.epochs, "epoch"),
            f"{each.batch_size:,} {STEPS[name]}",
        ]
        for name, each in trainings.items()
    ]
    return table(("training", "length ", "in each step"), lines)


def shared(study: Mapping[str, Any]) -> Recipe | None:
    """Return the recipe that all methods share; None if it is missing or this version cannot read it."""
    recipe = study.get("recipe")
    if not isinstance(recipe, Mapping):
        return None
    try:
        return convert({**recipe, "model": {"name": "base"}}, "recipe")
    except UserError:
        return None


def _changes(method: Method) -> list[tuple[str, object]]:
    """Return the changes that a method makes to the recipe."""
    truncated = [("negatives", "the base, kept from answering")] if method.truncated else []
    return [*method.changes.items(), *truncated]


def settings(study: Mapping[str, Any]) -> str | None:
    """Return the table of settings that differ from the paper's; None if the recipe is unknown or equals it."""
    recipe = shared(study)
    found = paper_diff(recipe, paper_recipe(recipe.domain), STAGES) if recipe else []
    lines = [[code(key), escape(plain(ours)), escape(plain(theirs))] for key, ours, theirs in found]
    return table(("setting", "here", "paper"), lines) if lines else None


def flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield settings with their full keys, such as `recipe.critic.train.beta`."""
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def everything(study: Mapping[str, Any]) -> str | None:
    """Return the table of all settings of a study; None if it has none."""
    lines = [[code(key), escape(plain(value))] for key, value in flat(study)]
    return table(("setting", "value"), lines) if lines else None
