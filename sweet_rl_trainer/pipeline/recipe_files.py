"""Recipes as TOML files: the shipped ones by name, and the user's own by path."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from colbench.errors import UserError


def shipped() -> list[str]:
    """Return the names of the recipes in the package."""
    found = files("sweet_rl_trainer").joinpath("recipes").iterdir()
    return sorted(each.name[:-5] for each in found if each.name.endswith(".toml"))


def describe(name: str) -> str:
    """Return the summary of a shipped recipe: the first line of its comment."""
    return text(name)[0].partition("\n")[0].lstrip("# ")


def tables(name: str) -> tuple[dict[str, Any], str]:
    """Return a recipe's tables, and its name for messages. Raises UserError if the recipe is missing or malformed."""
    content, place = text(name)
    try:
        return tomllib.loads(content), place
    except tomllib.TOMLDecodeError as cause:
        raise UserError(f"{place}: {cause}") from cause


def text(name: str) -> tuple[str, str]:
    """Return a recipe's TOML, and its name for messages. Raises UserError if the recipe is missing or not text."""
    if name in shipped():
        resource = files("sweet_rl_trainer").joinpath("recipes", f"{name}.toml")
        return resource.read_text("utf-8"), f"recipe {name}"
    path = Path(name)
    if not path.is_file():
        raise UserError(f"recipe {name!r}: neither a file nor one of {', '.join(shipped())}")
    try:
        return path.read_text("utf-8"), name
    except UnicodeDecodeError as cause:
        raise UserError(f"{name} is not a text file: {cause}") from cause
