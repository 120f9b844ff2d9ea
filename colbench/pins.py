"""Comparison of the pins of runs: the settings and versions that can change a result."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any


def changed_pins(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return a line for each pin that differs, with both values."""
    old, new = flat_pins(before), flat_pins(after)
    return [
        f"{_explained(name)}: {old.get(name, 'not set')} -> {new.get(name, 'not set')}"
        for name in sorted(old | new)
        if old.get(name) != new.get(name)
    ]


def _explained(name: str) -> str:
    """Return the name of a pin. If the pin is a hash of source code, add the meaning of the hash."""
    meaning = " (the content of its file, or of a local module that it imports)"
    return name + meaning if name.endswith(".source") else name


def flat_pins(pins: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return nested pins as strings by dotted names, such as `human.class`.

    A string that looks like another value, such as "1", keeps its quotation marks.
    """
    flat: dict[str, str] = {}
    for name, value in pins.items():
        if isinstance(value, dict):
            flat |= flat_pins(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = repr(value) if _is_literal(value) else str(value)
    return flat


def _is_literal(value: object) -> bool:
    """Return True for a string that is also the text of another value, such as "1" or "True"."""
    try:
        return isinstance(value, str) and not isinstance(ast.literal_eval(value), str)
    except (ValueError, SyntaxError):
        return False
