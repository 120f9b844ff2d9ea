"""The interface of the speaker that joins the parts of a paraphrase."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Protocol


class Says(Protocol):
    """Describes expressions in words; see `words.Speaker`."""

    names: dict[str, str]

    def say(self, node: ast.AST) -> str:
        """Say an expression as a noun phrase."""
        ...

    def state(self, node: ast.expr, *, negated: bool = False) -> str:
        """Say a condition as a clause, or its opposite."""
        ...

    def each(self, nodes: Sequence[ast.expr]) -> list[str]:
        """Say each expression."""
        ...

    def bare(self, node: ast.expr) -> str:
        """Say a noun phrase without its article."""
        ...

    def knowing(self, names: Mapping[str, str]) -> Says:
        """Return a speaker that knows phrases for more variables."""
        ...

    def loop(self, target: ast.expr, source: ast.expr) -> Says:
        """Return a speaker that knows the meaning of a loop's short variables."""
        ...
