"""The settings of a recipe that differ from the paper's settings."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from sweet_rl_trainer.pipeline.recipe import Recipe

STAGES = ("critic", "sample", "rank", "actor", "rft", "mtdpo")
"""Names of the paper's stages, which are also the names of their tables in a recipe."""
OURS = {
    "keep",
    "log_every",
    "max_pixels",
    "optimizer",
    "patience",
    "read_pages",
    "report_to",
    "row_tokens",
    "save_every",
    "seed",
    "share_beginnings",
    "gradient_checkpointing",
    "server",
    "record_tokens",
    "server_args",
    "concurrency",
}
"""Settings that the paper does not report; their values never count as differences."""


def paper_diff(
    recipe: Recipe, paper: Recipe, stages: Collection[str]
) -> list[tuple[str, object, object]]:
    """Return the settings that differ from the paper's settings, each as key, value and the paper's value.

    The comparison covers the settings of the given stages, `[lora]` and `data.held_out`. `paper` is the result of
    `read.paper_recipe` for the recipe's domain.
    """
    ours, theirs = (_tables(each) for each in (recipe, paper))
    found = [
        each
        for name in (*STAGES, "lora")
        if name in stages or name == "lora"
        for each in _differences(name, ours[name], theirs[name])
    ]
    return [*_beyond(recipe, stages), *found]


def as_text(value: object) -> str:
    """Return a setting's value as users write it: a string unchanged, anything else as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _tables(recipe: Recipe) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins({**recipe.tables, "lora": recipe.lora})
    return found


def _beyond(recipe: Recipe, stages: Collection[str]) -> Iterator[tuple[str, object, object]]:
    """Yield `data.held_out` if the recipe holds out tasks (the default), because the paper holds out no tasks.

    Yields nothing if the run has none of the paper's stages.
    """
    if recipe.data.held_out and not {*STAGES}.isdisjoint(stages):
        yield "data.held_out", recipe.data.held_out, 0.0


def _differences(key: str, ours: Any, theirs: Any) -> list[tuple[str, object, object]]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [
            each
            for name, value in ours.items()
            if name not in OURS
            for each in _differences(f"{key}.{name}", value, theirs.get(name))
        ]
    return [] if ours == theirs else [(key, ours, theirs)]
