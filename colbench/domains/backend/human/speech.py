"""The interface of a speaker, who describes Python expressions in words."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Protocol


class Says(Protocol):
    """A speaker who describes expressions in words; see `words.Speaker`."""

    names: dict[str, str]

    def say(self, node: ast.AST) -> str:
        """Phrase an expression as a noun phrase."""
        ...

    def state(self, node: ast.expr, *, negated: bool = False) -> str:
        """Phrase a condition as a clause; with `negated`, phrase the opposite of the condition."""
        ...

    def each(self, nodes: Sequence[ast.expr]) -> list[str]:
        """Phrase each expression."""
        ...

    def bare(self, node: ast.expr) -> str:
        """Phrase an expression as a noun phrase without its article."""
        ...

    def knowing(self, names: Mapping[str, str]) -> Says:
        """Return a speaker who also knows `names`, which maps variables to phrases."""
        ...

    def loop(self, target: ast.expr, source: ast.expr) -> Says:
        """Return a speaker who knows what a loop's short variable names stand for."""
        ...
