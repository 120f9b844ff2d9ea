"""Items of Python source: identifiers, numbers and strings, from the syntax tree or, if parsing fails, the tokens."""

from __future__ import annotations

import ast
import builtins
import keyword
import warnings

from colbench.items import Items, make_items, tokens_of

LARGEST = 1e300
"""Limit beyond which an integer may not be representable as a float."""
NAMING = {
    kind: field
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
    for field in ("id", "attr", "arg", "name")
    if field in kind._fields
}
"""The field that contains a name, by class of syntax node."""
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
    names = (getattr(node, NAMING[type(node)]) for node in nodes if type(node) in NAMING)
    return {name for name in names if isinstance(name, str)}, numbers, texts
