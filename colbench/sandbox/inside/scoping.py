"""A test that shows if a source gives the same results in both namespaces, `module` and `split` (`jobs.Namespace`).

If the results are the same, one run covers both. They are the same if no function of the source uses a top-level name.
The test examines the bytecode before a run. It is conservative: it expects different results from a source that could
look up a name in a way that the bytecode does not show.
"""

from __future__ import annotations

import dis
from collections.abc import Iterable, Iterator
from types import CodeType

_REFLECTION = frozenset((
    "globals", "locals", "vars", "dir", "eval", "exec", "compile", "getattr", "hasattr", "breakpoint",
    "attrgetter", "methodcaller", "Formatter", "get_field", "get_type_hints", "singledispatch",
    "currentframe", "stack", "trace", "modules", "f_globals", "f_locals", "f_back",
    "tb_frame", "gi_frame", "cr_frame", "ag_frame", "*",
))  # fmt: skip
"""Names with which code can look up variables in a way that the bytecode does not show; `*` imports all names."""
_PLAIN_DUNDERS = frozenset((
    "__name__", "__doc__", "__annotations__", "__module__", "__qualname__",
    "__init__", "__str__", "__repr__", "__eq__", "__hash__",
))  # fmt: skip
_PLAIN_MODULES = frozenset((
    "math", "cmath", "random", "re", "json", "string", "time", "datetime", "calendar", "collections",
    "collections.abc", "itertools", "functools", "heapq", "bisect", "statistics", "decimal", "fractions",
    "copy", "hashlib", "base64", "textwrap", "urllib.parse", "unicodedata", "uuid",
))  # fmt: skip
"""Modules whose functions look up no variable of their caller, except for `__name__`, which `namedtuple` looks up."""
_IMPORT = dis.opmap["IMPORT_NAME"]


def same_in_both(code: CodeType, calls: Iterable[CodeType | str]) -> bool:
    """Return True if the calls certainly have equal results in both namespaces.

    `code` is the compiled source. A call that is a string has not been compiled; for such a call, the result is False.
    """
    if any(isinstance(call, str) or _inner(call) for call in calls):
        return False
    inner = {name for part in _below(code) for name in part.co_names}
    return inner.isdisjoint(code.co_names) and all(map(_is_plain, (code, *_below(code))))


def _below(code: CodeType) -> Iterator[CodeType]:
    """Yield every code object nested in this one, at any depth."""
    pending = _inner(code)
    while pending:
        part = pending.pop()
        yield part
        pending += _inner(part)


def _inner(code: CodeType) -> list[CodeType]:
    return [const for const in code.co_consts if isinstance(const, CodeType)]


def _is_plain(code: CodeType) -> bool:
    return (
        all(map(_is_plain_name, code.co_names))
        and all(_is_plain_name(name) for name in _keywords(code))
        and (_IMPORT not in code.co_code[::2] or _imported(code) <= _PLAIN_MODULES)
    )


def _is_plain_name(name: str) -> bool:
    return name not in _REFLECTION and (not name.startswith("_") or name in _PLAIN_DUNDERS)


def _keywords(code: CodeType) -> Iterator[str]:
    """Yield strings in the code's constant tuples: call keywords, imported names, attributes in class patterns."""
    for const in code.co_consts:
        if type(const) is tuple:
            yield from (part for part in const if type(part) is str)


def _imported(code: CodeType) -> set[str]:
    return {each.argval for each in dis.get_instructions(code) if each.opcode == _IMPORT}
