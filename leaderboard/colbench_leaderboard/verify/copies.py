"""Whether an answer is a copy of the reference, whatever was done to hide it.

Of programs the syntax is compared, without docstrings and annotations, and with names numbered as they come; of pages
the runs of tokens that the request does not hold.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache

from colbench.leaks import hidden_items, used_items
from colbench.task import Task

ALIKE = 0.97
"""Share of the syntax from which two programs are the same but for a trifle."""
SHARED = 0.9
"""Share of a page's hidden runs of tokens."""
LEAST = 20
"""Parts of a reference; what is shorter anyone may have written."""
LONGER = 3
"""An answer that has so many times the parts of the reference is no copy."""
NAMES = ("id", "arg", "name", "attr")

Syntax = tuple[object, ...]


def is_copy(task: Task, source: str) -> bool:
    """Whether a program or a page is the task's reference, or nearly."""
    if task.domain == "frontend":
        whole = hidden_items(task).ngrams
        return len(whole) >= LEAST and len(used_items(task, source).ngrams) >= SHARED * len(whole)
    own = _syntax_of_reference(task.hidden.reference)
    theirs = syntax(source) if len(source) <= LONGER * len(task.hidden.reference) + 1000 else ()
    if len(own) < LEAST or not 1 / LONGER < len(theirs) / len(own) < LONGER:
        return False
    if own == theirs:
        return True
    match = SequenceMatcher(None, own, theirs, autojunk=False)
    return match.real_quick_ratio() >= ALIKE and match.quick_ratio() >= ALIKE <= match.ratio()


def syntax(source: str) -> Syntax:
    """The parts of a program in order, comparable with those of another; empty where it is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    numbers: dict[str, int] = {}
    return tuple(part for node in _nodes(tree) for part in _parts(node, numbers))


_syntax_of_reference = lru_cache(maxsize=4)(syntax)
"""Trials of a task follow one another."""


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but docstrings and annotations, each before what is in it."""
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
    """Whether it is a text that stands alone, and so does nothing."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _constant(value: object) -> str:
    """A constant's beginning; of an integer, which may be longer than Python writes in decimals, its digits in hex."""
    return (hex(value) if type(value) is int else repr(value))[:200]


def _parts(node: ast.AST, numbers: dict[str, int]) -> Iterator[object]:
    yield type(node).__name__
    if isinstance(node, ast.Constant):
        yield _constant(node.value)
    for field in NAMES:
        name = getattr(node, field, None)
        if isinstance(name, str):
            yield numbers.setdefault(name, len(numbers))
