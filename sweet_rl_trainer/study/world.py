"""A world: the tasks, who speaks in them, and all settings of a study, shipped as `worlds/NAME.toml`.

`[base]` is the recipe that makes the base model, `[own]` one by which it then learns from its own dialogues, `[recipe]`
the one that all arms share; an arm changes it (`arms`), and a seed its seeds. `like` names another world, whose values
hold where a file has none of its own.
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
    """All that a study is made of."""

    what: str
    """In a line, for people."""
    train: str
    """The tasks to learn from."""
    trials: Count
    """Dialogues about each of them in an iteration. Paper: 3."""
    validation: str
    """The tasks for choosing learning rates."""
    test: str
    """The tasks of the tables."""
    max_tokens: Count
    """Tokens of a reply, at most."""
    max_turns: Count = 10
    """Turns of a dialogue that is not a demonstrator's, at most. Paper: 10."""
    arms: tuple[str, ...]
    """Names of `arms.ARMS`, those with most seeds first."""
    fewer: dict[str, Count] = {}
    """Arms that have fewer seeds than the study, and how many at most."""
    exchanged: tuple[str, ...] = ()
    """Arms whose questions are answered by other writers (`separation`), and whose answers follow an oracle's."""
    exchanged_on: Count = 3
    """Seeds on which these are exchanged, at most."""
    rates: dict[str, Rates]
    """Learning rates to choose from, by goal."""
    chosen_on: Count = 2
    """Seeds on which the rates are chosen."""
    base: dict[str, Any]
    own: dict[str, Any] = {}
    """The recipe by which the base learns from its own dialogues before the comparison; empty: none."""
    recipe: dict[str, Any]

    def __post_init__(self) -> None:
        if empty := [goal for goal, rates in self.rates.items() if not rates]:
            raise ValueError(f"rates.{empty[0]}: give at least one")
        if unknown := {*self.exchanged} - {*self.arms}:
            raise ValueError(f"exchanged: not in the arms: {', '.join(sorted(unknown))}")


def shipped() -> list[str]:
    """Return the names of the worlds."""
    found = (each.name for each in files("sweet_rl_trainer").joinpath("study/worlds").iterdir())
    return sorted(name[:-5] for name in found if name.endswith(".toml"))


def read(name: str) -> World:
    """Read a shipped world. Raises UserError for an unknown name."""
    if name not in shipped():
        raise UserError(f"--world {name}: expected one of {', '.join(shipped())}")
    return msgspec.convert(_tables(name), World)


def _tables(name: str) -> dict[str, Any]:
    text = files("sweet_rl_trainer").joinpath("study", "worlds", f"{name}.toml").read_text("utf-8")
    tables = tomllib.loads(text)
    like = tables.pop("like", None)
    return _merged(_tables(like), tables) if like else tables


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return tables with the values of `above`, and those of `below` elsewhere."""
    found = {**below, **above}
    for key in below.keys() & above.keys():
        if isinstance(below[key], Mapping) and isinstance(above[key], Mapping):
            found[key] = _merged(below[key], above[key])
    return found
