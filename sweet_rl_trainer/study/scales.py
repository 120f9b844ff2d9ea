"""How large a study is: tables of settings, shipped as `scales/NAME.toml`.

`[base]` is the recipe that makes the base model, `[own]` one by which it then learns from its own dialogues, `[recipe]`
the one that all methods share; a method changes it (`methods`), and a seed its seeds. `like` names another scale, which
has all that a file does not say itself.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Annotated, Any, get_args

import msgspec
from msgspec import Meta, Struct

from colbench.errors import UserError
from sweet_rl_trainer.settings import Count, Positive
from sweet_rl_trainer.study.methods import Group

Share = Annotated[float, Meta(gt=0, lt=1)]


class Rates(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Learning rates that are tried for each kind of policy, as many for each; chosen with the first seed."""

    rft: tuple[Positive, ...]
    mtdpo: tuple[Positive, ...]
    actor: tuple[Positive, ...]

    def __post_init__(self) -> None:
        if len({len(self.rft), len(self.mtdpo), len(self.actor)}) > 1 or not self.rft:
            raise ValueError("as many rates for each, and at least one")


class Scale(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that a study is made of."""

    what: str
    """In a line, for people."""
    train: str
    """The tasks that are learnt from; nothing else of their dialogues is used."""
    trials: Count
    """Dialogues for each of them. Paper: 3."""
    validation: str
    """The tasks by which learning rates and checkpoints are chosen."""
    test: str
    """The tasks of the tables."""
    test_trials: Count
    best_of: Count
    """Dialogues for each validation task, among which critics choose."""
    max_tokens: Count
    """Of a reply."""
    max_turns: Count = 10
    """Of a dialogue that is not a demonstrator's. Paper: 10."""
    methods: tuple[str, ...]
    """Names of `methods.METHODS`."""
    repeated: tuple[str, ...] = get_args(Group)
    """Groups, and names of methods, that are done with every seed; others with the first one alone."""
    rates: Rates
    shares: tuple[Share, ...] = ()
    """Of the training tasks, for the curve over the amount of data."""
    scaling: tuple[str, ...] = ()
    """The methods of that curve."""
    exchanged: tuple[str, ...] = ()
    """Methods of which each writes the answers in the dialogues of each other."""
    base_rounds: Count = 1
    """How often the base is trained, with the learning rate high again each time."""
    base: dict[str, Any]
    own: dict[str, Any] = {}
    """By what the base learns from its own dialogues, before anything is compared; empty: it does not."""
    recipe: dict[str, Any]


def shipped() -> list[str]:
    """Return the names of the scales."""
    found = (each.name for each in files("sweet_rl_trainer").joinpath("study/scales").iterdir())
    return sorted(name[:-5] for name in found if name.endswith(".toml"))


def read(name: str) -> Scale:
    """Read a shipped scale. Raises UserError for an unknown name."""
    if name not in shipped():
        raise UserError(f"--scale {name}: expected one of {', '.join(shipped())}")
    return msgspec.convert(_tables(name), Scale)


def _tables(name: str) -> dict[str, Any]:
    text = files("sweet_rl_trainer").joinpath("study", "scales", f"{name}.toml")
    tables = tomllib.loads(text.read_text("utf-8"))
    like = tables.pop("like", None)
    return {**_tables(like), **tables} if like else tables
