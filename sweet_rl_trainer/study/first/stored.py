"""The published results in their file, `docs/reproduction/results.json.gz`; those of schema 1 had no field `schema`."""

from __future__ import annotations

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sweet_rl_trainer.pipeline.former_names import upgrade
from sweet_rl_trainer.study.first.results import SCHEMA, Results

RECIPES = "base", "own", "recipe"
"""The settings of a study that are tables of a recipe."""


class _Head(Struct):
    schema: str = ""


def decode(content: bytes) -> Results:
    """Return results from the JSON of their file, also of schema 1.

    Raises msgspec.DecodeError if it is damaged or of another schema.
    """
    schema = msgspec.json.decode(content, type=_Head).schema
    if schema == SCHEMA:
        return msgspec.json.decode(content, type=Results)
    if schema:
        raise msgspec.ValidationError(f"schema {schema}, expected {SCHEMA}")
    former, present = (f'"{name}"'.encode() for name in ("no-hidden", "no-privileged"))
    found = msgspec.json.decode(content.replace(former, present), type=Results)
    recipes = {name: upgrade(found.study[name]) for name in RECIPES if name in found.study}
    return replace(found, study=found.study | recipes)
