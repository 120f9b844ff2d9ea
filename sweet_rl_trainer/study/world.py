"""A world: the tasks, the participants of dialogues, and all settings of a study, shipped as `worlds/NAME.toml`.

`[base]` is the recipe of the base model. `[own]` is a recipe by which the base then learns from its own dialogues.
`[recipe]` is the recipe that all arms share and modify (`arms`). Each seed of the study sets the seeds of `[recipe]`.
`like` names another world, which provides the values that a file omits. If the file names a pretrained model, it does
not inherit the other world's tiny model.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import msgspec
from msgspec import Struct

from colbench.errors import UserError
from sweet_rl_trainer.settings import Count, Positive

Rates = tuple[Positive, ...]


class World(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The definition of a study."""

    what: str
    """One-line description of the world."""
    train: str
    """The tasks to learn from."""
    trials: Count
    """Number of dialogues on each task in an iteration. Paper: 3."""
    validation: str
    """The tasks for choosing learning rates."""
    test: str
    """The tasks for the tables of the report."""
    max_tokens: Count
    """Maximum number of tokens in a reply."""
    max_turns: Count = 10
    """Maximum number of turns in the dialogues of the arms' policies and in exchanges. Paper: 10."""
    iterations: Count = 3
    """Maximum number of iterations of an arm (`Arm.iterations`)."""
    arms: tuple[str, ...]
    """Names of the arms (`arms.ARMS`), in the order in which they run; but untrained arms always run first."""
    fewer: dict[str, Count] = {}
    """Maximum number of seeds for each arm that has fewer seeds than the study, keyed by arm."""
    exchanged: tuple[str, ...] = ()
    """Arms whose policies are also combined with other models (`report.separated`).

    Such a policy is the asker with the oracle or the base as writer, and the writer with the oracle as asker.
    """
    exchanged_on: Count = 3
    """Maximum number of seeds for the combinations that `exchanged` requests."""
    rates: dict[str, Rates]
    """Learning rates to choose from, by goal."""
    chosen_on: Count = 2
    """Number of seeds that are used to choose the rates."""
    base: dict[str, Any]
    own: dict[str, Any] = {}
    """The recipe by which the base learns from its own dialogues before the comparison. {} skips this step."""
    recipe: dict[str, Any]

    def __post_init__(self) -> None:
        if empty := [goal for goal, rates in self.rates.items() if not rates]:
            raise ValueError(f"rates.{empty[0]}: empty; list at least one learning rate to try")
        if unknown := {*self.exchanged} - {*self.arms}:
            raise ValueError(
                f"`exchanged` contains arms that are missing from `arms`: {', '.join(sorted(unknown))}"
            )


def shipped() -> list[str]:
    """Return the names of the worlds."""
    found = (each.name for each in files("sweet_rl_trainer").joinpath("study/worlds").iterdir())
    return sorted(name[:-5] for name in found if name.endswith(".toml"))


def read(name: str, *, model: str = "") -> World:
    """Read a shipped world.

    `model` is the folder or Hub ID of a pretrained model, which replaces the model that the world's base starts from.
    Raises UserError if the name is unknown, or if a model is given but the base starts from random weights.
    """
    if name not in shipped():
        raise UserError(f"--world {name}: expected one of {', '.join(shipped())}")
    tables = _tables(name)
    if model:
        if "name" not in tables["base"]["model"]:
            raise UserError(
                f"--model {model}: the world {name} trains its base from random weights and takes no model; "
                "choose a --world whose base is a pretrained model"
            )
        tables["base"]["model"]["name"] = model
    return msgspec.convert(tables, World)


def _tables(name: str) -> dict[str, Any]:
    text = files("sweet_rl_trainer").joinpath("study", "worlds", f"{name}.toml").read_text("utf-8")
    tables = tomllib.loads(text)
    like = tables.pop("like", None)
    found = _merged(_tables(like), tables) if like else tables
    if "name" in found["base"]["model"]:
        found["base"]["model"].pop("tiny", None)
    return found


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Merge tables; values of `above` take precedence over values of `below`."""
    found = {**below, **above}
    for key in below.keys() & above.keys():
        if isinstance(below[key], Mapping) and isinstance(above[key], Mapping):
            found[key] = _merged(below[key], above[key])
    return found
