"""Validation errors of msgspec, explained to the person who wrote the values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import ValidationError, inspect

from colbench.errors import UserError

TYPES = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "a string",
    "array": "a list",
    "object": "a table",
}
"""Plain words for msgspec's names of types."""
TYPE = re.compile(r"`([\w |]+)`")
STEP = re.compile(r"\w+|\[\d+\]|\[\.\.\.\]")
"""One step of a path such as `collect[0].agent_args[...]`."""
SHORTEST = 4
"""Minimum length of a name whose misspellings are recognized; shorter names are too similar to each other."""
SIMILAR = 0.7
"""Minimum similarity between a wrong name and the name to suggest, as difflib's ratio."""
ALIKE = 0.8
"""Minimum similarity (difflib's ratio) at which an unknown name is a misspelling; less similar names are ignored."""
LONGEST = 80
"""Maximum number of characters of a wrong value to show in a message."""


class Problem(NamedTuple):
    """A problem in a configuration: the path of a key, such as `critic.train.beta`, and what is wrong with it."""

    key: str
    reason: str
    given: str = ""
    """The wrong value, as the end of a message: `, got 0`; "" if no value is to be shown."""

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.key, self.reason))) + self.given

    @property
    def field(self) -> str:
        """The top-level key."""
        return re.split(r"[.\[]", self.key, maxsplit=1)[0]


def explain(
    error: ValidationError,
    kind: Any,
    values: Any = None,
    *,
    table: str = "",
    quoted: bool = False,
) -> Problem:
    """Describe why values cannot be converted to the type `kind`.

    If `values` are given, the problem shows the wrong value. If the values are a table in a larger file, `table` is the
    key of this table. With `quoted`, a string that looks like another type, such as "1", is shown in quotes, as in JSON
    or TOML.
    """
    message, _, path = str(error).partition(" - at `")
    steps = STEP.findall(path.removeprefix("$").rstrip("`"))
    if unknown := re.search(r"unknown field `(.+)`", message):
        known = [field.encode_name for part in _at(kind, steps) for field in _fields(part)]
        hint = did_you_mean(unknown[1], known)
        return Problem(_join(table, *steps, unknown[1]), f"unknown key{hint}")
    if missing := re.search(r"missing required field `(.+)`", message):
        return Problem(_join(table, *steps, missing[1]), "required, but missing")
    value = _value(values, steps)
    given = "" if value is None else f", got {_show(value, quoted)}"
    return Problem(_join(table, *steps), _reason(message, kind, steps), given)


def did_you_mean(
    name: str, known: Iterable[str], after: str = "", *, before: str = "", then: str = ""
) -> str:
    """Return the end of a message: a hint that names the most similar known name, if any, then the text `then`.

    A known name also counts as similar if `name` begins with it, as `evaluate` begins with `eval`. The hint shows the
    known name between `before` and `after`. Return "" if no name is similar and `then` is empty.
    """
    found = {each.lstrip("-"): each for each in known}
    name = name.lstrip("-")
    near = get_close_matches(name, found, 1, SIMILAR)
    near = near or _beginnings(name, found)
    if not near:
        return f"; {then}" if then else ""
    sentence = f" {then[0].upper()}{then[1:]}" if then else ""
    return f"; did you mean `{before}{found[near[0]]}{after}`?{sentence}"


def _beginnings(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names with which `name` begins, the longest first."""
    found = (each for each in known if len(each) >= SHORTEST and name.startswith(each))
    return sorted(found, key=len, reverse=True)


def did_you_mean_path(path: Path, others: Iterable[Path]) -> str:
    """Return a hint that names the path in `others` most similar to `path`, or "" if none is similar.

    All paths must be in the same folder.
    """
    names = [other.name for other in others]
    near = get_close_matches(path.name, names, 1, SIMILAR)
    return f"; did you mean `{path.with_name(near[0])}`?" if near else ""


def misspelled(name: str, known: Collection[str]) -> str | None:
    """Return the known name that is most similar to `name`; None if no known name is similar enough."""
    near = get_close_matches(name, [each for each in known if len(each) >= SHORTEST], 1, ALIKE)
    return near[0] if near else None


def _reason(message: str, kind: Any, steps: list[str]) -> str:
    if message.startswith("Invalid enum value"):
        parts = _at(kind, steps)
        numbers = [TYPES["int"] for part in parts if isinstance(part, inspect.IntType)]
        choices = [str(value) for part in parts for value in getattr(part, "values", ())]
        return f"expected {_either(iter([*numbers, *choices]))}"
    message = message.partition(", got ")[0].replace("`array` of length 2", "two values")
    return TYPE.sub(_in_words, message[:1].lower() + message[1:])


def _in_words(found: re.Match[str]) -> str:
    names = [name for name in found[1].split(" | ") if name != "null"]
    if "float" in names and "int" in names:
        names.remove("int")
    return _either(TYPES.get(name, name) for name in names)


def _either(values: Iterator[str]) -> str:
    *others, last = values
    return f"{', '.join(others)} or {last}" if others else last


def _at(kind: Any, steps: list[str]) -> list[inspect.Type]:
    """Return the possible types of the value at the path `steps` in a value of type `kind`."""
    parts = _alternatives(inspect.type_info(kind))
    for step in steps:
        parts = [inner for part in parts for inner in _step(part, step)]
    return parts


def _step(part: inspect.Type, step: str) -> Iterator[inspect.Type]:
    if step.startswith("["):
        inner = [getattr(part, name, None) for name in ("item_type", "value_type")]
    else:
        inner = [field.type for field in _fields(part) if field.encode_name == step]
    for each in filter(None, inner):
        yield from _alternatives(each)


def _fields(part: inspect.Type) -> tuple[inspect.Field, ...]:
    return part.fields if isinstance(part, inspect.StructType) else ()


def _alternatives(kind: inspect.Type) -> list[inspect.Type]:
    return list(kind.types) if isinstance(kind, inspect.UnionType) else [kind]


def _value(values: Any, steps: list[str]) -> Any:
    """Return the value at the path `steps`; None if the path does not exist."""
    for step in steps:
        if isinstance(values, Mapping) and step in values:
            values = values[step]
        elif isinstance(values, list | tuple) and step.strip("[]").isdigit():
            values = values[int(step.strip("[]"))]
        else:
            return None
    return values


def _is_literal(text: str) -> bool:
    """Return True if a string is a JSON value, such as a number."""
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return False
    return True


def _show(value: Any, quoted: bool) -> str:
    if quoted and isinstance(value, str) and _is_literal(value):
        return f'"{value}"'
    listed = isinstance(value, list | tuple) and value
    shown = ",".join(map(str, value)) if listed else str(value)
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"


def _join(*steps: str) -> str:
    return ".".join(filter(None, steps)).replace(".[", "[")


def require_finite(place: str, value: object) -> None:
    """Raise UserError if a value is, or contains, an infinite number or NaN, which JSON files cannot hold."""
    if isinstance(value, float) and not isfinite(value):
        raise UserError(f"{place}: expected a finite number, got {value}")
    if isinstance(value, Mapping):
        for key, each in value.items():
            require_finite(f"{place}: {key}", each)
    if isinstance(value, list | tuple):
        for each in value:
            require_finite(place, each)


def require_whole(place: str, value: object) -> None:
    """Raise UserError if a value is a number, but not an integer in plain digits: 0.5, 1e3 and 1000.0 are refused."""
    try:
        number = float(str(value))
    except ValueError:
        return
    if not re.fullmatch(r"-?\d+", str(value)):
        example = f", such as {number:.0f}" if number.is_integer() else ""
        raise UserError(f"{place}: expected a whole number{example}, got {value}")
