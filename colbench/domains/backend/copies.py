"""Detection of copied programs by their syntax, regardless of names, layout and comments."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from functools import lru_cache

from colbench.copies import LONGER, is_copy, token_parts

NAMES = ("id", "arg", "name", "attr")

Syntax = tuple[object, ...]


def copies(reference: str, source: str) -> bool:
    """Return True if a program is a copy of the reference, or nearly a copy."""
    longest = LONGER * len(reference) + 1000
    return is_copy(
        _syntax_of_reference(reference), syntax(source) if len(source) <= longest else ()
    )


def syntax(source: str) -> Syntax:
    """Return a program's node types, constants and names in order; empty if the program is not valid Python.

    Each name is replaced by a number, in order of first use. Docstrings and annotations are left out.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    numbers: dict[str, int] = {}
    return tuple(part for node in _nodes(tree) for part in _parts(node, numbers))


def shape(source: str) -> tuple[str, ...]:
    """Return a program's node types and constants in order; for an invalid program, its words, numbers and symbols."""
    return tuple(part for part in syntax(source) if isinstance(part, str)) or token_parts(source)


_syntax_of_reference = lru_cache(maxsize=4)(syntax)
"""A cached version of `syntax`. The cache is small because all trials of a task are compared consecutively."""


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes except docstrings and annotations, each before its children."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        children = [
            child
            for name, value in ast.iter_fields(node)
            if name not in ("annotation", "returns", "type_comment", "type_params")
            for child in (value if isinstance(value, list) else [value])
            if isinstance(child, ast.AST)
            and not isinstance(child, ast.expr_context)
            and not _is_docstring(child)
        ]
        waiting.extend(reversed(children))


def _is_docstring(node: ast.AST) -> bool:
    """Return True for a string that stands alone as a statement and has no effect."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _constant(value: object) -> str:
    """Return a prefix of a constant's text; integers are in hex because Python limits decimal conversions."""
    return (hex(value) if type(value) is int else repr(value))[:200]


def _parts(node: ast.AST, numbers: dict[str, int]) -> Iterator[object]:
    yield type(node).__name__
    if isinstance(node, ast.Constant):
        yield _constant(node.value)
    for field in NAMES:
        name = getattr(node, field, None)
        if isinstance(name, str):
            yield numbers.setdefault(name, len(numbers))
