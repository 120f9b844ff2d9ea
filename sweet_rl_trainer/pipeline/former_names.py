"""Former names of a recipe's settings. A recipe with a former name is refused, and the error gives the current name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from colbench.errors import UserError

TOP = {"told": "collect_privileged"}
"""Former and current keys at the top level of a recipe."""
TABLES = {
    "critic": {"hidden": "privileged", "weights": "token_weights"},
    "mtdpo": {"weights": "token_weights"},
    "actor": {"weights": "token_weights"},
    "rft": {"told": "privileged"},
}
"""Former and current keys in the tables of methods."""
SCORES = {
    "critic-without-hidden": "critic-unprivileged",
    "value-without-hidden": "value-unprivileged",
}
"""Former and current values of `rank.scores`."""


def refuse_former(recipe: Mapping[str, Any]) -> None:
    """Raise UserError if a recipe's tables contain a former name. The message gives the current name."""
    for former, present in _former(recipe):
        raise UserError(f"{former} is now {present}")


def _former(recipe: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each former name in a recipe, with the current name."""
    yield from ((key, TOP[key]) for key in recipe if key in TOP)
    for name, keys in TABLES.items():
        table = recipe.get(name)
        if isinstance(table, Mapping):
            yield from ((f"{name}.{key}", f"{name}.{keys[key]}") for key in table if key in keys)
    rank = recipe.get("rank")
    scores = str(rank.get("scores")) if isinstance(rank, Mapping) else ""
    if scores in SCORES:
        yield f"rank.scores {scores!r}", repr(SCORES[scores])
