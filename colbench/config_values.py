"""Conversion of named values to a configuration."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from colbench.config import RunConfig, settings
from colbench.config_errors import did_you_mean, explain, require_finite, require_whole
from colbench.errors import UserError


def config_of(
    values: Mapping[str, Any],
    places: Mapping[str, str] | None = None,
    *,
    others: Collection[str] = (),
) -> RunConfig:
    """Build a configuration from values by field name.

    Raises UserError if a field is unknown or its value is wrong. The message about a wrong value begins with the
    field's entry in `places`, such as a flag, or else with the field's name. `others` are further names to suggest for
    an unknown field.
    """
    places, known = places or {}, settings()
    for name, value in values.items():
        if name not in known:
            raise UserError(f"{name}: unknown setting{did_you_mean(name, [*known, *others])}")
        if known[name].kind == "whole":
            require_whole(places.get(name, name), value)
    try:
        config = msgspec.convert(dict(values), RunConfig, strict=False)
    except msgspec.ValidationError as cause:
        problem = explain(cause, RunConfig, values)
        setting = known[problem.field]
        form = f" ({setting.metavar})" if setting.kind == "list" else ""
        place = places.get(problem.field, problem.key)
        raise UserError(f"{place}: {problem.reason}{form}{problem.given}") from cause
    for name in known:
        require_finite(places.get(name, name), getattr(config, name))
        _require_unicode(places.get(name, name), getattr(config, name))
    if config.shard and config.shard[0] > config.shard[1]:
        given = "/".join(map(str, config.shard))
        raise UserError(
            f"{places.get('shard', 'shard')}: expected I/N with I from 1 to N, got {given}"
        )
    return config


def _require_unicode(place: str, value: object) -> None:
    """Raise UserError if a value contains a string that is not valid Unicode, as some file names are."""
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError as cause:
        shown = ascii(value).strip("'")
        raise UserError(
            f"{place}: not valid Unicode: {shown}; change the value, or rename the file or folder that it names"
        ) from cause
