"""Values from the sandbox as short texts for people, in a notation similar to Python's."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from colbench.command import printable

_PARTS = 60
"""Maximum number of parts of a collection to format."""
_EPOCH = datetime.datetime(1, 1, 1)  # naive on purpose
_BRACKETS = {
    "tuple": "({})",
    "set": "{{{}}}",
    "deque": "deque([{}])",
    "values": "dict_values([{}])",
    "dict": "{{{}}}",
    "ordered": "OrderedDict({{{}}})",
    "counter": "Counter({{{}}})",
    "namespace": "namespace({})",
}
_MAPPINGS = frozenset({"dict", "ordered", "counter", "namespace"})


def show_tree(tree: Any, limit: int) -> str:
    """Format a value, given as its decoded JSON, in a notation similar to Python's, cut at `limit` characters.

    Return "a malformed value" if the JSON cannot be formatted. An object with an unknown tag is shown as tag and
    content.
    """
    try:
        text = _text(tree, limit)
    except (TypeError, ValueError, LookupError, ArithmeticError, RecursionError):
        text = "a malformed value"
    return cut(text, limit)


def cut(text: str, limit: int) -> str:
    """Return the text on one line, valid in any file and terminal, cut at `limit` characters."""
    text = printable(text[:limit]).encode("utf-8", "backslashreplace").decode()
    text = " ".join(text.split()) if "\n" in text else text
    return text if len(text) < limit else text[: limit - 1] + "…"


def _text(tree: Any, limit: int) -> str:
    if isinstance(tree, str):
        return repr(tree[:limit])
    if isinstance(tree, list):
        return f"[{_join(tree, limit)}]"
    if not isinstance(tree, dict):
        return repr(tree)
    ((tag, content),) = tree.items()
    if tag in _BRACKETS:
        return _collection(tag, content, limit)
    return _LEAVES[tag](content) if tag in _LEAVES else f"<{tag}: {str(content)[:limit]}>"


def _collection(tag: str, content: list[Any], limit: int) -> str:
    if tag == "set" and not content:
        return "set()"
    if tag in _MAPPINGS:
        return _BRACKETS[tag].format(_join_pairs(content, limit))
    comma = "," if tag == "tuple" and len(content) == 1 else ""
    return _BRACKETS[tag].format(_join(content, limit) + comma)


def _join(items: list[Any], limit: int) -> str:
    return _up_to(limit, (_text(item, limit) for item in islice(items, _PARTS)), len(items))


def _join_pairs(pairs: list[Any], limit: int) -> str:
    texts = (f"{_text(key, limit)}: {_text(value, limit)}" for key, value in islice(pairs, _PARTS))
    return _up_to(limit, texts, len(pairs))


def _up_to(limit: int, texts: Iterator[str], count: int) -> str:
    """Join texts with commas until the limit is exceeded; end with `…` if fewer than `count` texts are shown."""
    shown: list[str] = []
    for text in texts:
        shown.append(text)
        limit -= len(text) + 2
        if limit < 0:
            break
    return ", ".join(shown) + (", …" if len(shown) < count else "")


def _number(digits: str) -> str:
    return repr(int(digits, 16)) if len(digits) < 1000 else f"{digits[:60]}…"


def _moment(content: list[Any]) -> str:
    microseconds, offset = content
    text = str(_EPOCH + datetime.timedelta(microseconds=microseconds))
    return text if offset is None else f"{text}{_zone(offset)}"


def _time(content: list[Any]) -> str:
    microseconds, offset = content
    text = str((_EPOCH + datetime.timedelta(microseconds=microseconds)).time())
    return text if offset is None else f"{text}{_zone(offset)}"


def _zone(offset: int) -> str:
    return str(datetime.timezone(datetime.timedelta(microseconds=offset)))


_LEAVES: dict[str, Callable[[Any], str]] = {
    "int": _number,
    "opaque": lambda content: f"<{content} object>",
    "bytes": lambda content: repr(bytes.fromhex(content[:400])),
    "complex": lambda content: repr(complex(*content)),
    "decimal": lambda content: f"Decimal({content[:400]!r})",
    "fraction": lambda content: f"Fraction({', '.join(map(_number, content))})",
    "range": lambda content: f"range({', '.join(map(_number, content))})",
    "datetime": lambda content: f"datetime({_moment(content)})",
    "time": lambda content: f"time({_time(content)})",
    "date": lambda content: f"date({content})",
    "timedelta": lambda content: f"timedelta({datetime.timedelta(microseconds=content)})",
    "zone": _zone,
    "zoneinfo": lambda content: f"ZoneInfo({content!r})",
    "uuid": lambda content: f"UUID({content!r})",
    "enum": lambda content: f"{content[0]}.{content[1]}",
    "type": lambda content: f"<class {content!r}>",
}
