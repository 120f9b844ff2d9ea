"""Items of Python source: identifiers, numbers and texts from its syntax tree, or from its tokens if it has none."""

from __future__ import annotations

import ast
import builtins
import keyword
import warnings

from colbench.items import Items, make_items, tokens_of

LARGEST = 1e300
"""Limit beyond which an integer may not be representable as a float."""
NAMING = ("id", "attr", "arg", "name")
"""Fields of syntax nodes that contain names."""
PYTHON = frozenset(dir(builtins)) | frozenset(keyword.kwlist) | {"self"}


def python_items(source: str) -> Items:
    """Return the items of Python source; built-ins and keywords do not count as identifiers."""
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
    names = (vars(node).get(field) for node in nodes for field in NAMING)
    return {name for name in names if isinstance(name, str)}, numbers, texts
