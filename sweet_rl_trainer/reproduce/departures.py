"""What a study's settings are, and where they are not the paper's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from colbench.errors import UserError
from sweet_rl_trainer.deviations import STAGES, deviations
from sweet_rl_trainer.recipe import convert
from sweet_rl_trainer.reproduce.methods import Method
from sweet_rl_trainer.reproduce.tables import full_label
from sweet_rl_trainer.reproduce.text import code, escape, plain, table


def methods(members: Iterable[Method]) -> str:
    """What each method changes in the recipe that all share."""
    lines = [
        [
            escape(full_label(each)),
            code(each.goal),
            ", ".join(code(f"{key} = {plain(value)}") for key, value in each.changes.items())
            or "–",
        ]
        for each in members
    ]
    return table(("method", "training", "changes of the recipe"), lines)


def settings(study: Mapping[str, Any]) -> str | None:
    """Where the shared recipe is not the paper's; None if there is none, or none of this version's."""
    recipe = study.get("recipe")
    if not isinstance(recipe, Mapping):
        return None
    try:
        found = deviations(convert({**recipe, "model": {"name": "base"}}, "recipe"), STAGES)
    except UserError:
        return None
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
