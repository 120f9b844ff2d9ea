"""What a study's settings are, and where they are not the paper's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from colbench.errors import UserError
from sweet_rl_trainer.deviations import STAGES, deviations
from sweet_rl_trainer.recipe import Recipe, convert
from sweet_rl_trainer.reproduce.methods import Method
from sweet_rl_trainer.reproduce.tables import full_label
from sweet_rl_trainer.reproduce.text import NOTHING, code, count, escape, plain, table


def methods(members: Iterable[Method]) -> str:
    """What each method changes in the recipe that all share."""
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
"""What a step of each training has some of."""


def budget(study: Mapping[str, Any]) -> str | None:
    """How long each training is, and what a step has; None where the study does not say."""
    recipe = shared(study)
    if recipe is None:
        return None
    trainings = {name: getattr(recipe, name).train for name in STEPS}
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
    """The recipe that all methods share; None if there is none, or none of this version's."""
    recipe = study.get("recipe")
    if not isinstance(recipe, Mapping):
        return None
    try:
        return convert({**recipe, "model": {"name": "base"}}, "recipe")
    except UserError:
        return None


def _changes(method: Method) -> list[tuple[str, object]]:
    """Of the recipe."""
    endless = [("negatives", "the base, kept from answering")] if method.endless else []
    return [*method.changes.items(), *endless]


def settings(study: Mapping[str, Any]) -> str | None:
    """Where the shared recipe is not the paper's; None where it is not known, or nowhere."""
    recipe = shared(study)
    found = deviations(recipe, STAGES) if recipe else []
    lines = [[code(key), escape(plain(ours)), escape(plain(theirs))] for key, ours, theirs in found]
    return table(("setting", "here", "paper"), lines) if lines else None


def flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Settings with the tables that they are in: `recipe.critic.train.beta`."""
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def everything(study: Mapping[str, Any]) -> str | None:
    """All settings of a study; None if there is none."""
    lines = [[code(key), escape(plain(value))] for key, value in flat(study)]
    return table(("setting", "value"), lines) if lines else None
