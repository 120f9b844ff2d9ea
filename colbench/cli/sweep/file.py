"""The file of a sweep: a table `[base]` of settings, and a table `[[run]]` for each run that changes some of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from colbench.config import RunConfig, without_address
from colbench.config_errors import did_you_mean
from colbench.errors import UserError
from colbench.flags import environment_values, file_values, merge_sources, read_file

TABLES = ("base", "run")
PAGE = "compare.html"
"""The page that compares the runs, next to their folders."""
NAME = re.compile(r"[A-Za-z0-9_][\w.+-]*")
LONGEST = 80
"""Maximum number of characters in the name of a run whose table `[[run]]` has no `name`."""


class SweepRun(Struct, frozen=True, kw_only=True):
    """One run of a sweep."""

    name: str
    """The name of the run's folder."""
    config: RunConfig


def read_sweep(path: Path, environment: Mapping[str, str]) -> list[SweepRun]:
    """Return the runs of a sweep's file; settings of `[[run]]` override environment variables, which override `[base]`.

    Raises UserError if the file cannot be read, or if the file or an environment variable contains a mistake; the
    message names the place of the mistake.
    """
    content = read_file(path, str(path))
    _require_tables(path, content)
    base = content.get("base", {})
    found = []
    for number, table in enumerate(content["run"], start=1):
        place = f"{path}, [[run]] {number}"
        own = {key.replace("-", "_"): value for key, value in table.items() if key != "name"}
        sources = (
            file_values(base, f"{path}, [base]"),
            environment_values(environment),
            file_values(own, place),
        )
        config = merge_sources(sources)
        found.append(SweepRun(name=_name(table, own, place), config=config))
    _require_different(path, found)
    return found


def _require_tables(path: Path, content: Mapping[str, Any]) -> None:
    for key in content:
        if key not in TABLES:
            hint = did_you_mean(key, TABLES) or "; put settings that all runs share into [base]"
            raise UserError(f"{path}: unknown table or key `{key}`{hint}")
    runs = content.get("run", [])
    if not isinstance(runs, list) or not all(isinstance(each, dict) for each in runs):
        raise UserError(f"{path}: `run` is not a list of tables; begin each run with [[run]]")
    if not isinstance(content.get("base", {}), dict):
        raise UserError(f"{path}: `base` is not a table; begin it with [base]")
    if len(runs) < 2:
        raise UserError(
            f"{path}: a sweep needs at least two [[run]] tables, got {len(runs)}; for one run, use "
            "`colbench eval --config`"
        )


def _name(table: Mapping[str, Any], own: Mapping[str, Any], place: str) -> str:
    """Return the name of a run's folder: `name` in the table `[[run]]` or, without this key, a generated name.

    The generated name is made from the run's own settings (`own`), or is `base` if the run has no settings of its own.
    Raises UserError, which begins with `place`, if `name` cannot be used.
    """
    name = table.get("name")
    if name is None:
        return "-".join(_words(own))[:LONGEST].strip("-.") or "base"
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise UserError(
            f"{place}, key `name`: expected the name of a folder (letters, digits and . _ + -, "
            f"beginning with a letter, a digit or _), got {name!r}"
        )
    if name == PAGE:
        raise UserError(
            f"{place}, key `name`: {PAGE} is the page of the comparison; choose another name"
        )
    return name


def _words(own: Mapping[str, Any]) -> Iterator[str]:
    """Yield the parts of the generated name of a run with the settings `own`.

    They are the values of agent, human and tasks, and `KEY-VALUE` for every other setting.
    """
    for key, value in own.items():
        if isinstance(value, dict):
            yield from _words(value)
        else:
            text = without_address(str(value)).removesuffix(".jsonl")
            slug = re.sub(r"[^\w.]+", "-", text).strip("-.")
            yield slug if key in ("agent", "human", "tasks") else f"{key}-{slug}"


def _require_different(path: Path, runs: Sequence[SweepRun]) -> None:
    names = [run.name for run in runs]
    for name in names:
        if names.count(name) > 1:
            raise UserError(
                f"{path}: two runs have the name {name}; set a different `name` in each [[run]]"
            )
    selections = [(run.config.pins(), run.config.selection()) for run in runs]
    for place, each in enumerate(selections):
        if each in selections[:place]:
            other = names[selections.index(each)]
            raise UserError(
                f"{path}: the runs {other} and {names[place]} have the same settings, or differ only in settings that "
                "cannot change results, such as a server's URL; change another setting, such as `seed`"
            )
