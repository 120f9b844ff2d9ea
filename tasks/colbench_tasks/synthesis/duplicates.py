"""Near-duplicates: tasks whose request or whose reference is almost that of another one.

Each text is a set of shingles, runs of three words of the request and of three tokens of the code. Two sets are
compared by Jaccard's index, the share that they have in common of all that they hold (Broder, On the resemblance and
containment of documents, 1997). Code is normalised first: the names that it gives are numbered, comments,
docstrings, annotations and layout go.

MinHash estimates this very number, for sets too many to compare. Here there are thousands of short texts, an inverted
index finds the exact number in milliseconds, and the usual library for MinHash would bring SciPy along.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress

from colbench.interfaces import RejectedError
from colbench.task import SIGNATURE, Task
from colbench_tasks.synthesis.checks import parse

SHINGLE = 3
"""Words, or tokens of code, in a run."""
SAME_REQUEST = 0.5
"""No two of 400 official requests have more than 0.27 in common."""
SAME_CODE = 0.8
"""Of 400 official references seven have an earlier one as like as that: the same formula in other names."""
WORD = re.compile(r"\w+")
TOKEN = re.compile(r"\w+|[^\w\s]")
Shingle = tuple[str, ...]


class NearDuplicates:
    """The tasks seen so far, for finding one that is nearly the same."""

    def __init__(self) -> None:
        self._requests = _Index(SAME_REQUEST)
        self._codes = _Index(SAME_CODE)

    def add(self, task: Task) -> None:
        """Remember a task; a page is left out."""
        if task.domain == "backend":
            self._requests.add(task.id, request_shingles(task.request))
            self._codes.add(task.id, code_shingles(task.hidden.reference))

    def like(self, task: Task) -> str:
        """Which task this one is nearly the same as, and by what; empty if none."""
        found = self._requests.nearest(request_shingles(task.request))
        if found:
            return f"the request is {found[1]:.0%} that of {found[0]}"
        found = self._codes.nearest(code_shingles(task.hidden.reference))
        return f"the reference is {found[1]:.0%} that of {found[0]}" if found else ""


class _Index:
    """Sets of shingles by name, with a list for each shingle of the sets that hold it."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._names: list[str] = []
        self._sizes: list[int] = []
        self._holders: dict[Shingle, list[int]] = defaultdict(list)

    def add(self, name: str, shingles: frozenset[Shingle]) -> None:
        for shingle in shingles:
            self._holders[shingle].append(len(self._names))
        self._names.append(name)
        self._sizes.append(len(shingles))

    def nearest(self, shingles: frozenset[Shingle]) -> tuple[str, float] | None:
        """The set most like this one and how like it is, if that reaches the threshold; the first of several."""
        common = Counter(n for shingle in shingles for n in self._holders.get(shingle, ()))
        likeness = {n: both / (len(shingles) + self._sizes[n] - both) for n, both in common.items()}
        best = min(likeness, key=lambda n: (-likeness[n], n), default=None)
        if best is None or likeness[best] < self._threshold:
            return None
        return self._names[best], likeness[best]


def request_shingles(request: str) -> frozenset[Shingle]:
    """The runs of words before the signature, without case and marks."""
    return _shingles(WORD.findall(SIGNATURE.split(request)[0].lower()))


def code_shingles(source: str) -> frozenset[Shingle]:
    """The runs of tokens of normalised code; of what is no Python, the tokens as they stand."""
    with suppress(RejectedError, RecursionError):
        source = ast.unparse(_Renamed().visit(parse(source, "not_a_function")))
    return _shingles(TOKEN.findall(source))


def _shingles(tokens: Sequence[str]) -> frozenset[Shingle]:
    last = max(len(tokens) - SHINGLE, 0)
    return frozenset(tuple(tokens[start : start + SHINGLE]) for start in range(last + 1))


class _Renamed(ast.NodeTransformer):
    """Numbers the names that a module gives, in the order of its tree; other names stay."""

    def __init__(self) -> None:
        self._numbers: dict[str, str] = {}

    def visit_Module(self, node: ast.Module) -> ast.Module:
        for inner in ast.walk(node):
            match inner:
                case ast.FunctionDef(name=name) | ast.arg(arg=name):
                    self._number(name)
                case ast.Name(id=name, ctx=ast.Store()):
                    self._number(name)
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        node.name, node.returns = self._numbers[node.name], None
        self.generic_visit(node)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(arg=self._numbers[node.arg])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        return ast.Assign(targets=[node.target], value=node.value, lineno=0) if node.value else node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(id=self._numbers.get(node.id, node.id), ctx=node.ctx)

    def _number(self, name: str) -> None:
        self._numbers.setdefault(name, f"_{len(self._numbers)}")
