"""Items of Python source: identifiers, numbers and texts by its syntax tree, or by its tokens where it has none."""

from __future__ import annotations

import ast
import builtins
import keyword
import warnings
from collections.abc import Iterator

from colbench.items import Items, make_items, tokens_of

LARGEST = 1e300
"""Beyond it an integer may have no float."""
PYTHON = frozenset(dir(builtins)) | frozenset(keyword.kwlist) | {"self"}


def python_items(source: str) -> Items:
    """Return the items of Python source; built-ins and keywords are not identifiers of it."""
    names, numbers, texts = _named(source)
    return make_items(source, names - PYTHON, numbers, texts)


def _named(source: str) -> tuple[set[str], set[float], set[str]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return tokens_of(source)
    nodes = list(ast.walk(tree))
    constants = [node.value for node in nodes if isinstance(node, ast.Constant)]
    numbers = {float(c) for c in constants if isinstance(c, int | float) and c < LARGEST}
    texts = {c for c in constants if isinstance(c, str)}
    return {name for node in nodes for name in _names(node)}, numbers, texts


def _names(node: ast.AST) -> Iterator[str]:
    for field in ("id", "attr", "arg", "name"):
        name = getattr(node, field, None)
        if isinstance(name, str):
            yield name
