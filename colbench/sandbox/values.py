"""Values that left the sandbox: reading, comparing and showing the tagged JSON of `inside.encode`.

The harness never rebuilds a value, so it never runs a candidate's code, such as `__eq__`, `__hash__` or `__repr__`. Two
values are compared by their normal forms: texts that are equal exactly when the values are equal by Python's `==`.
Numbers are exact rationals (for an exception, see `_FAR_EXPONENT`), and sets and dicts are sorted by the normal forms
of their contents, so that no hash is ever computed from a candidate's data.

Each scoring mode has a policy. The default policy deliberately differs from `==` for three kinds of values:

- The members of `dict.values()` are compared in order (Python compares the views by identity).
- Numpy arrays, pandas frames and series are equal if their shapes and all their parts are equal.
- NaN is equal to NaN.

In the official policy, a value of these three kinds equals nothing, and neither does a value with a part of these
kinds.

In both policies, a value with an opaque part (an object that is not data, such as a function) equals nothing. If both
compared values contain an OrderedDict, their OrderedDicts are compared in order, and do not equal plain dicts. If both
compared values contain a Counter, their Counters are compared without the counts of zero.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, Literal

from colbench.sandbox.show import show_tree

Policy = Literal["default", "official"]
_PAIRWISE = ("ordered", "counter")
_FAR_EXPONENT = 400
"""Maximum absolute exponent, and also maximum text length, of a decimal that is converted to a rational.

Without this limit, a short text such as `1e4999` would become thousands of digits. A finite decimal beyond the limit
can equal only decimals that are also beyond the limit.
"""
_LONG_RANGE = 1000
"""Maximum length of the hexadecimal start, stop and step of a range.

The last number of a longer range is not computed, because the division takes quadratic time.
"""


_BY_PARTS = ("values", "array", "frame", "series")
_UNEQUAL: dict[Policy, tuple[bytes, ...]] = {
    "default": (b'{"opaque"',),
    "official": (b'{"opaque"', b"NaN", *(f'{{"{tag}"'.encode() for tag in _BY_PARTS)),
}
"""Markers of values that may be unequal to themselves; a text without any of these markers equals itself."""


class MalformedValueError(Exception):
    """The text is not in the format of `inside.encode`."""


def equal(left: bytes, right: bytes, policy: Policy = "default") -> bool:
    """Return True if two encoded values are equal.

    Identical texts are not parsed, except if they contain a marker in `_UNEQUAL`. Raises MalformedValueError if a
    parsed text does not encode a value.
    """
    if left == right and not any(mark in left for mark in _UNEQUAL[policy]):
        return True
    special = frozenset(tag for tag in _PAIRWISE if _has(left, tag) and _has(right, tag))
    first = _Normal(policy, special).text(_tree(left))
    second = _Normal(policy, special).text(_tree(right))
    return first is not None and first == second


def comparable(value: bytes) -> bool:
    """Return True unless the value has an opaque part. A value with such a part never equals another value.

    Raises MalformedValueError if `value` does not encode a value.
    """
    return _Normal("default", frozenset()).text(_tree(value)) is not None


def show(value: bytes, limit: int = 200) -> str:
    """Format the value in a notation similar to Python's, cut at `limit` characters.

    Raises MalformedValueError if `value` is not JSON.
    """
    return show_tree(_tree(value), limit)


def kind(value: bytes) -> str:
    """Return the name of a value's type: `None`, a name such as `int` or `list`, or a tag of `inside.encode`.

    Raises MalformedValueError if `value` is not JSON or has an unknown tag.
    """
    match _tree(value):
        case None:
            return "None"
        case {**fields}:
            tag = next(iter(fields), "")
            if tag not in _FORMS:
                raise MalformedValueError("malformed value: unknown type tag")
            return tag
        case tree:
            return type(tree).__name__


def _has(text: bytes, tag: str) -> bool:
    return f'{{"{tag}":'.encode() in text


def _tree(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as cause:
        raise MalformedValueError(f"malformed value: {type(cause).__name__}") from cause


class _UnequalError(Exception):
    """The value contains a part that never compares equal to anything."""


class _Normal:
    """The normal forms of values under one policy.

    `special`: the tags (`ordered`, `counter`) that occur in both compared values. With `ordered`, OrderedDicts are
    compared in order; without it, as dicts. With `counter`, Counters are compared without their counts of zero; without
    it, as dicts.
    """

    def __init__(self, policy: Policy, special: frozenset[str]) -> None:
        self.official = policy == "official"
        self.special = special

    def text(self, tree: Any) -> str | None:
        """Return the normal form of a complete value; None if the value never compares equal to anything."""
        try:
            return self.of(tree)
        except _UnequalError:
            return None
        except (TypeError, ValueError, KeyError, ArithmeticError, RecursionError) as cause:
            raise MalformedValueError(
                f"malformed value: {type(cause).__name__}: {cause}"
            ) from cause

    def of(self, tree: Any) -> str:
        match tree:
            case None:
                return "None"
            case bool() | int():
                return _rational(int(tree), 1)
            case float():
                return self.real(tree)
            case str():
                return json.dumps(tree)
            case list():
                return self.sequence("list", tree)
            case {**fields} if len(fields) == 1:
                ((tag, content),) = fields.items()
                return _FORMS[str(tag)](self, content)
        raise ValueError("unknown type tag")

    def real(self, number: float) -> str:
        if number != number:  # noqa: PLR0124  # only NaN differs from itself
            return self.nan()
        if number in (float("inf"), float("-inf")):
            return str(number)
        return _rational(*number.as_integer_ratio())

    def nan(self) -> str:
        if self.official:
            raise _UnequalError
        return "nan"

    def sequence(self, tag: str, items: Iterable[Any]) -> str:
        return f"{tag}[{','.join(map(self.of, items))}]"

    def unordered(self, tag: str, parts: Iterable[str]) -> str:
        return f"{tag}{{{','.join(sorted(parts))}}}"

    def pairs(self, pairs: Iterable[Any]) -> list[str]:
        return [f"{self.of(key)}:{self.of(value)}" for key, value in pairs]

    def opaque(self, _content: Any) -> str:
        raise _UnequalError

    def complex(self, parts: Any) -> str:
        real, imaginary = parts
        return self.of(real) if imaginary == 0 else f"complex({self.of(real)},{self.of(imaginary)})"

    def decimal(self, text: str) -> str:
        number = Decimal(text)
        if number.is_nan():
            return self.nan()
        if number.is_zero():
            return _rational(0, 1)
        if number.is_infinite() or max(len(text), abs(number.adjusted())) > _FAR_EXPONENT:
            return _far_decimal(number)
        return _rational(*number.as_integer_ratio())

    def fraction(self, parts: Any) -> str:
        numerator, denominator = parts
        return _rational(int(numerator, 16), int(denominator, 16))

    def ordered(self, pairs: Any) -> str:
        if "ordered" in self.special:
            return f"ordered[{','.join(self.pairs(pairs))}]"
        return self.mapping(pairs)

    def counter(self, pairs: Any) -> str:
        """Return a Counter's normal form.

        Each count is normalized only once. A second time would double the total time for each level of nested Counters.
        """
        forms = [(self.of(key), self.of(count)) for key, count in pairs]
        if "counter" in self.special:
            zero = _rational(0, 1)
            forms = [form for form in forms if form[1] != zero]
        return self.unordered("dict", map(":".join, forms))

    def mapping(self, pairs: Any) -> str:
        return self.unordered("dict", self.pairs(pairs))

    def range(self, parts: Any) -> str:
        if max(map(len, parts)) > _LONG_RANGE:
            return f"range({json.dumps(parts)})"
        numbers = range(*(int(part, 16) for part in parts))
        if not numbers:
            return "range()"
        last = numbers[-1]
        return f"range({numbers[0]:x},{last:x},{numbers.step if last != numbers[0] else 1:x})"

    def moment(self, parts: Any) -> str:
        """Return the normal form of a time or datetime; a value with a time zone is converted to UTC."""
        microseconds, offset = parts
        if offset is None:
            return f"naive({microseconds:d})"
        return f"aware({microseconds - offset:d})"

    def by_parts(self, tag: str, parts: Any) -> str:
        """Return the normal form of a value that is compared part by part, such as an array or `dict.values()`.

        Raises `_UnequalError` in the official policy, where such a value equals nothing.
        """
        if self.official:
            raise _UnequalError
        return self.sequence(tag, parts)


def _rational(numerator: int, denominator: int) -> str:
    """Format a rational exactly, in linear time; integers, the most frequent case, get the shortest form."""
    return f"{numerator:x}" if denominator == 1 else f"{numerator:x}/{denominator:x}"


def _far_decimal(number: Decimal) -> str:
    if number.is_infinite():
        return str(float(number))
    sign, digits, exponent = number.as_tuple()
    significant = "".join(map(str, digits)).rstrip("0")
    return f"decimal({sign},{significant},{int(exponent) + len(digits) - len(significant)})"


def _plain(tag: str) -> Callable[[_Normal, Any], str]:
    return lambda _normal, content: f"{tag}({json.dumps(content)})"


def _sequence(tag: str) -> Callable[[_Normal, Any], str]:
    return lambda normal, content: normal.sequence(tag, content)


def _by_parts(tag: str) -> Callable[[_Normal, Any], str]:
    return lambda normal, content: normal.by_parts(tag, content)


_FORMS: dict[str, Callable[[_Normal, Any], str]] = {
    "opaque": _Normal.opaque,
    "int": lambda _normal, content: _rational(int(content, 16), 1),
    "complex": _Normal.complex,
    "decimal": _Normal.decimal,
    "fraction": _Normal.fraction,
    "tuple": _sequence("tuple"),
    "deque": _sequence("deque"),
    "set": lambda normal, content: normal.unordered("set", map(normal.of, content)),
    "dict": _Normal.mapping,
    "ordered": _Normal.ordered,
    "counter": _Normal.counter,
    "namespace": lambda normal, content: normal.unordered("namespace", normal.pairs(content)),
    "range": _Normal.range,
    "datetime": lambda normal, content: f"datetime.{normal.moment(content)}",
    "time": lambda normal, content: f"time.{normal.moment(content)}",
    **{tag: _by_parts(tag) for tag in _BY_PARTS},
    **{
        tag: _plain(tag)
        for tag in ("bytes", "date", "timedelta", "zone", "zoneinfo", "enum", "type", "uuid")
    },
}
