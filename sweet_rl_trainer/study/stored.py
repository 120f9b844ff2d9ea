"""The results of a study in their file, to which several calls, in turn or at once, each add their parts.

OUT/results.json       `results.Results`; files of schema 1, which had no field `schema`, are read as well
OUT/results.json.old   earlier results of another study, version or base
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from colbench.errors import DataError
from colbench.run_folder import hold
from sweet_rl_trainer.pipeline.former_names import upgrade
from sweet_rl_trainer.study.results import (
    SCHEMA,
    Cost,
    Credit,
    Critic,
    Exchange,
    Results,
    Row,
    Scaling,
)

RESULTS, OLD, LOCK = "results.json", "results.json.old", ".lock"
PARTS = "rows", "critics", "scaling", "costs", "credits", "exchanges"
"""The fields of results that calls add to."""
RECIPES = "base", "own", "recipe"
"""The settings of a study that are tables of a recipe."""


class _Head(Struct):
    schema: str = ""


def read(out: Path) -> Results | None:
    """Return the results in a folder; None if there are none. Raises DataError if they are damaged."""
    if not (out / RESULTS).is_file():
        return None
    try:
        return decode((out / RESULTS).read_bytes())
    except msgspec.DecodeError as cause:
        raise DataError(f"{out / RESULTS}: {cause}; delete it to make it again") from cause


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


def set_aside(own: Results, out: Path) -> Path | None:
    """Keep results to which these cannot be added under another name: says which; None if there are none."""
    with hold(out / LOCK, out, wait=True):
        there = read(out)
        if there is None or _alike(there, own):
            return None
        return (out / RESULTS).rename(out / OLD)


def _alike(there: Results, own: Results) -> bool:
    return (there.study, there.version, there.base) == (own.study, own.version, own.base)


def add(own: Results, out: Path, *, whole: bool = False) -> Results:
    """Merge the results of a call with the stored ones, write and return both; `whole`: see `merged`."""
    with hold(out / LOCK, out, wait=True):
        there = read(out)
        both = merged(there, own, whole=whole) if there else own
        part = out / f"{RESULTS}.part"
        part.write_bytes(msgspec.json.encode(both))
        part.rename(out / RESULTS)
    return both


def merged(there: Results, own: Results, *, whole: bool = False) -> Results:
    """Return the own parts and the stored parts that they do not replace, unless study, version or base differ.

    If `whole`, the own parts are all parts of these seeds: stored costs of these methods and seeds, which belong to an
    earlier form of the study, are dropped.
    """
    if not _alike(there, own):
        return own
    if whole:
        known = {(each.method, each.seed) for each in own.costs}
        others = (each for each in there.costs if (each.method, each.seed) not in known)
        there = replace(there, costs=tuple(others))
    return replace(own, **{kind: _both(getattr(there, kind), getattr(own, kind)) for kind in PARTS})


def _both(there: tuple[Any, ...], own: tuple[Any, ...]) -> tuple[Any, ...]:
    made = set(map(_place, own))
    return (*own, *(each for each in there if _place(each) not in made))


def _place(part: Row | Critic | Credit | Scaling | Exchange | Cost) -> tuple[Any, ...]:
    """Return the values that two parts share if one replaces the other."""
    match part:
        case Exchange():
            return part.asker, part.writer, part.seed
        case Scaling():
            return part.method, part.seed, part.share
        case Cost():
            return (part.key,)
        case _:
            return part.method, part.seed
