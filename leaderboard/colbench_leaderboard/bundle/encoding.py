"""Canonical JSON: exactly one encoding of each value, which ColBench writes and submitted files must use."""

from __future__ import annotations

import hashlib
import json
from typing import Any, TypeVar

import msgspec

from colbench_leaderboard.bundle.refused import Refused

T = TypeVar("T")
DEEPEST = 16
"""Maximum nesting depth of lists and objects."""


def canonical(value: Any) -> bytes:
    """Return a value as UTF-8 JSON with sorted keys, and without whitespace between keys and values or at the end."""
    return msgspec.json.encode(msgspec.to_builtins(value), order="sorted")


def sha256(content: bytes) -> str:
    """Return the SHA-256 in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def decode(content: bytes, kind: type[T], *, most: int, file: str, line: int | None = None) -> T:
    """Decode canonical JSON of at most `most` bytes.

    Raises Refused: `json.size`, `json.text`, `json.malformed`, `json.number`, `json.duplicate-key`, `json.depth`,
    `json.canonical`, and `schema.KIND` (KIND: the type's name in lower case) if the value does not fit the type `kind`.
    """
    if len(content) > most:
        raise Refused(
            "json.size", f"{len(content)} bytes; at most {most} are allowed", file=file, line=line
        )
    try:
        value = msgspec.json.decode(content, type=kind)
        same = canonical(value) == content
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
        raise _diagnosis(content, cause, kind, file, line) from cause
    if not same:
        raise _diagnosis(content, None, kind, file, line)
    return value


def require_flat(value: Any, file: str) -> None:
    """Raise Refused, `json.depth`, if lists and objects are nested more than `DEEPEST` deep."""
    layer = [value]
    for _ in range(DEEPEST + 1):
        layer = [inner for outer in layer for inner in _parts(outer)]
        if not layer:
            return
    raise Refused("json.depth", f"nested more than {DEEPEST} deep", file=file)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list) else []


def _diagnosis(
    content: bytes, cause: Exception | None, kind: type, file: str, line: int | None
) -> Refused:
    """Return the error for a text that cannot be decoded or is not canonical."""
    rule, message = _flaw(content) or _unlike(cause, kind)
    return Refused(rule, message, file=file, line=line)


def _flaw(content: bytes) -> tuple[str, str] | None:
    """Return the rule that a text breaks, with a message; None if the text follows the rules for all JSON files.

    These rules require UTF-8, valid JSON without NaN and infinite numbers, no key twice in an object, and no more
    levels and digits than Python can parse. The schema and the canonical form are not checked here.
    """
    flaw: tuple[str, str] | None = None
    try:
        json.loads(content.decode("utf-8"), object_pairs_hook=_pairs, parse_constant=_constant)
    except UnicodeDecodeError as why:
        flaw = "json.text", f"not UTF-8: {why.reason} at byte {why.start + 1}"
    except json.JSONDecodeError as why:
        flaw = "json.malformed", f"not JSON: {why.msg} at character {why.pos + 1}"
    except RecursionError:
        flaw = "json.depth", f"nested more than {DEEPEST} deep"
    except Refused as why:
        flaw = why.rule, why.message
    except ValueError:
        flaw = "json.number", "a number with too many digits"
    return flaw


def _unlike(cause: Exception | None, kind: type) -> tuple[str, str]:
    if cause is None:
        how = (
            "sorted keys, no whitespace, and every value in its shortest form; default values are written in "
            "submission.json and lock.json, and left out elsewhere"
        )
        return "json.canonical", f"not canonical JSON, which has {how}"
    if "out of range" in str(cause):
        return "json.number", "a number that is out of range"
    return f"schema.{kind.__name__.lower()}", str(cause)


def _pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    for key, value in found:
        if key in pairs:
            raise Refused("json.duplicate-key", f"the key {key[:100]!a} appears twice")
        pairs[key] = value
    return pairs


def _constant(word: str) -> Any:
    raise Refused("json.number", f"{word} is not a JSON number")
