"""What is wrong with a table of settings, in the words of those who write recipes."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import inspect


def said(cause: msgspec.ValidationError, settings: type[msgspec.Struct], table: str = "") -> str:
    """`critic.train.beta: expected …`, with the values that there are where there are few.

    `settings` is what was to be made of the table, `table` the key where it stands, empty for a whole recipe.
    """
    message, _, where = str(cause).partition(" - at `")
    inside = where.rstrip("`").removeprefix("$").removeprefix(".")
    place = _key(table, inside)
    if unknown := re.search(r"unknown field `(.+)`", message):
        return f"there is no setting {_key(place, unknown[1])}"
    if missing := re.search(r"missing required field `(.+)`", message):
        return f"{_key(place, missing[1])} is missing"
    message = (message[:1].lower() + message[1:]).replace("`", "")
    if message.startswith("invalid enum value"):
        message += f"; expected {_listed(_choices(settings, inside.split('.')))}"
    return f"{place}: {message}" if place else message


def _key(*parts: str) -> str:
    return ".".join(filter(None, parts))


def _choices(settings: type[msgspec.Struct], path: list[str]) -> list[Any]:
    """The values that the setting at the end of the path may have."""
    kind = inspect.type_info(settings)
    for name in path:
        (kind,) = (
            field.type
            for part in _parts(kind)
            for field in getattr(part, "fields", ())
            if field.encode_name == name.partition("[")[0]
        )
    return [value for part in _parts(kind) for value in getattr(part, "values", ())]


def _parts(kind: inspect.Type) -> list[inspect.Type]:
    """A type, those of a union, or those of a list's items."""
    if isinstance(kind, inspect.UnionType):
        return [part for each in kind.types for part in _parts(each)]
    if isinstance(kind, inspect.ListType | inspect.VarTupleType):
        return _parts(kind.item_type)
    return [kind]


def _listed(values: list[Any]) -> str:
    *others, last = map(str, values)
    return f"{', '.join(others)} or {last}" if others else last
