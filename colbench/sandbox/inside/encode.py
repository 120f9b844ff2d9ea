"""A value as tagged JSON, written inside the sandbox and read by `colbench.sandbox.values`.

None, bool, int (up to `PLAIN_BITS`), float, str and list are plain JSON. Every other value becomes an object with one
key, its tag. An instance of a subclass of list is encoded as a list, through the methods of list itself, so that no
overriding method of the subclass runs. The same holds for most other types. Values that are not data (functions,
iterators, other objects of the answer's own classes) become `{"opaque": type name}`, which is not equal to anything.
"""

from __future__ import annotations

import datetime
import json
import sys
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

CANDIDATE = "answer"
"""Name of the candidate's module. Classes of this module never count as importable, whatever the module contains."""
MAX_NODES = 200_000
"""Maximum number of elements in all containers of a value together."""
MAX_DEPTH = 100
MAX_BYTES = 1 << 20
"""Maximum length of the encoded value, which is ASCII."""
PLAIN_BITS = 64
"""Maximum length in bits of an integer written in decimal. Longer integers are hexadecimal, which takes linear time."""

_SCALARS = frozenset({type(None), bool, int, float, str})
_dumps = json.JSONEncoder(check_circular=False).encode


_mro, _name = type.__dict__["__mro__"].__get__, type.__dict__["__name__"].__get__
_module, _qualname = type.__dict__["__module__"].__get__, type.__dict__["__qualname__"].__get__


def class_name(kind: type) -> str:
    """Return a class's name as Python stores it, even if its metaclass reports another name."""
    return str.__str__(_name(kind))


def _full_name(kind: type) -> tuple[str, str]:
    """Return a class's module and qualified name as Python stores them, even if its metaclass reports other names."""
    return str.__str__(_module(kind)), str.__str__(_qualname(kind))


def _importable(kind: type) -> bool:
    """Return True if the class can be looked up by name in its module, and this module is not the candidate's."""
    module, name = _full_name(kind)
    return module != CANDIDATE and getattr(sys.modules.get(module), name, None) is kind


class UnsupportedValueError(Exception):
    """The value is too large, is too deeply nested or has too many parts to leave the sandbox."""


def encode(value: object) -> str:
    """Encode the value as ASCII JSON on one line. Raises UnsupportedValueError if the value exceeds a limit."""
    text = _dumps(_Encoder().tree(value, 0))
    if len(text) > MAX_BYTES:
        raise UnsupportedValueError("the value is larger than 1 MiB")
    return text


class _Encoder:
    """A builder of the JSON tree of one value, which limits the number and depth of the tree's nodes."""

    def __init__(self) -> None:
        self.nodes = 0

    def tree(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind in _SCALARS:
            return _scalar(value)
        if depth > MAX_DEPTH:
            raise UnsupportedValueError(f"the value is nested more than {MAX_DEPTH} deep")
        if kind is list:
            return self.items(value, depth)
        for base in _mro(kind):
            write = _WRITERS.get(base)
            if write is not None:
                return write(self, value, depth)
        return _by_module(self, value, depth)

    def items(self, values: Iterable[Any], depth: int) -> list[Any]:
        """Return the JSON trees of all values.

        Raises UnsupportedValueError if the tree of the whole value becomes too large.
        """
        values = list(values)
        self.nodes += len(values)
        if self.nodes > MAX_NODES:
            raise UnsupportedValueError(f"the value has more than {MAX_NODES} parts")
        kinds = set(map(type, values))
        if kinds <= _SCALARS:
            return [_scalar(value) for value in values] if int in kinds else values
        return [self.tree(value, depth + 1) for value in values]

    def pairs(self, items: Iterable[tuple[Any, Any]], depth: int) -> list[Any]:
        return [self.items(pair, depth + 1) for pair in items]


def _scalar(value: Any) -> Any:
    if type(value) is int and value.bit_length() > PLAIN_BITS:
        return {"int": hex(value)}
    return value


def _by_module(encoder: _Encoder, value: Any, depth: int) -> Any:
    """Encode a value whose type is from a slow-to-import module such as numpy; encode any other value as opaque.

    The type is recognized by name, and only if its module is loaded.
    """
    for base in _mro(type(value)):
        write = _LAZY_WRITERS.get(_full_name(base))
        if write is not None and _importable(base):
            return write(encoder, value, depth)
    return {"opaque": _full_name(type(value))[1]}


Writer = Callable[[_Encoder, Any, int], Any]


def _collection(tag: str, iterate: Callable[[Any], Iterable[Any]]) -> Writer:
    return lambda encoder, value, depth: {tag: encoder.items(iterate(value), depth)}


def _mapping(tag: str, items: Callable[[Any], Iterable[Any]] = dict.items) -> Writer:
    return lambda encoder, value, depth: {tag: encoder.pairs(items(value), depth)}


def _leaf(write: Callable[[Any], Any]) -> Writer:
    return lambda _encoder, value, _depth: write(value)


def _microseconds(span: datetime.timedelta | None) -> int | None:
    return None if span is None else span // datetime.timedelta(microseconds=1)


def _date(value: datetime.date) -> Any:
    return {"date": datetime.date.isoformat(value)}


def _datetime(value: datetime.datetime) -> Any:
    naive = datetime.datetime.replace(value, tzinfo=None)
    span = naive - datetime.datetime(1, 1, 1)  # naive on purpose
    return {"datetime": [_microseconds(span), _microseconds(datetime.datetime.utcoffset(value))]}


def _time(value: datetime.time) -> Any:
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    offset = _microseconds(datetime.time.utcoffset(value))
    return {"time": [seconds * 1_000_000 + value.microsecond, offset]}


def _zone(value: datetime.timezone) -> Any:
    return {"zone": _microseconds(datetime.timezone.utcoffset(value, None))}


def _enum(value: Enum) -> Any:
    """Encode a member of an importable enumeration; members of an enumeration defined by the answer are opaque."""
    kind = type(value)
    if not _importable(kind):
        return {"opaque": _full_name(kind)[1]}
    return {"enum": [".".join(_full_name(kind)), value.name]}


def _type(value: type) -> Any:
    return {"type": ".".join(_full_name(value))} if _importable(value) else {"opaque": "type"}


def _namespace(encoder: _Encoder, value: SimpleNamespace, depth: int) -> Any:
    return {"namespace": encoder.pairs(vars(value).items(), depth)}


def _array(encoder: _Encoder, value: Any, depth: int) -> Any:
    return {"array": [list(value.shape), encoder.items(value.ravel().tolist(), depth)]}


def _frame(encoder: _Encoder, value: Any, depth: int) -> Any:
    columns = [encoder.items(value.iloc[:, n].tolist(), depth) for n in range(value.shape[1])]
    names, index = value.columns.tolist(), value.index.tolist()
    return {"frame": [encoder.items(names, depth), encoder.items(index, depth), columns]}


def _series(encoder: _Encoder, value: Any, depth: int) -> Any:
    return {
        "series": [encoder.items(value.index.tolist(), depth), encoder.items(value.tolist(), depth)]
    }


_WRITERS: dict[type, Writer] = {
    bool: _leaf(bool),
    int: _leaf(lambda value: _scalar(int.__index__(value))),
    float: _leaf(float.__float__),
    str: _leaf(str.__str__),
    complex: _leaf(lambda value: {"complex": [value.real, value.imag]}),
    list: lambda encoder, value, depth: encoder.items(list.__iter__(value), depth),
    tuple: _collection("tuple", tuple.__iter__),
    set: _collection("set", set.__iter__),
    frozenset: _collection("set", frozenset.__iter__),
    deque: _collection("deque", deque.__iter__),
    type({}.keys()): _collection("set", iter),
    type({}.values()): _collection("values", iter),
    type({}.items()): _collection("set", iter),
    dict: _mapping("dict"),
    OrderedDict: _mapping("ordered", OrderedDict.items),
    Counter: _mapping("counter"),
    bytes: _leaf(lambda value: {"bytes": bytes.hex(value)}),
    bytearray: _leaf(lambda value: {"bytes": bytearray.hex(value)}),
    range: _leaf(lambda value: {"range": [hex(value.start), hex(value.stop), hex(value.step)]}),
    datetime.datetime: _leaf(_datetime),
    datetime.date: _leaf(_date),
    datetime.time: _leaf(_time),
    datetime.timedelta: _leaf(lambda value: {"timedelta": _microseconds(value)}),
    datetime.timezone: _leaf(_zone),
    Decimal: _leaf(lambda value: {"decimal": Decimal.__str__(value)}),
    Fraction: _leaf(lambda value: {"fraction": [hex(value.numerator), hex(value.denominator)]}),
    Enum: _leaf(_enum),
    SimpleNamespace: _namespace,
    type: _leaf(_type),
}

_LAZY_WRITERS: dict[tuple[str, str], Writer] = {
    ("uuid", "UUID"): _leaf(lambda value: {"uuid": format(value.int, "032x")}),
    ("zoneinfo", "ZoneInfo"): _leaf(lambda value: {"zoneinfo": str(value.key)}),
    ("numpy", "generic"): lambda encoder, value, depth: encoder.tree(value.item(), depth + 1),
    ("numpy", "ndarray"): _array,
    ("pandas", "DataFrame"): _frame,
    ("pandas", "Series"): _series,
    ("pandas.core.frame", "DataFrame"): _frame,
    ("pandas.core.series", "Series"): _series,
}
