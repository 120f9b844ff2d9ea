"""Near-duplicates: tasks whose request or reference is almost identical to another task's.

Each text becomes a set of shingles: runs of three words of the request, and of three tokens of the code. Two sets are
compared by their Jaccard index: the size of their intersection, divided by the size of their union. Code is normalized
first: names that the code defines become numbers, and comments, docstrings, annotations and layout are removed.

MinHash finds the candidates (Broder, On the resemblance and containment of documents, 1997). For each set, it computes
the least value of each of 256 hash functions, and groups these values in bands. Only sets that agree in a band are
compared exactly. The library datasketch is not used because it depends on SciPy; a dozen lines of NumPy are enough.
"""

from __future__ import annotations

import ast
import re
import zlib
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from random import Random
from typing import TYPE_CHECKING

from colbench.interfaces import RejectedError
from colbench.task import SIGNATURE, Task
from colbench_tasks.family import Family
from colbench_tasks.synthesis.checks import parse

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHINGLE = 3
"""The number of words, or of tokens of code, in a run."""
SAME_REQUEST = 0.5
"""Similarity threshold for requests. No two of 400 official requests have a similarity above 0.33."""
SAME_CODE = 0.8
"""Similarity threshold for code. Seven of 400 official references reach it, as copies of a formula with other names."""
FUNCTIONS = 256
REQUEST_ROWS, CODE_ROWS = 4, 8
"""The number of values in a band, for requests and for code.

MinHash misses 1.6% (requests) or 0.3% (code) of the pairs at the threshold, and at most 0.02% of the
pairs whose similarity is 0.1 higher."""
PRIME = 2**31 - 1
"""A prime for the hash functions; products of two smaller numbers fit into 64 bits."""
WORD = re.compile(r"\w+")
TOKEN = re.compile(r"\w+|[^\w\s]")
Shingle = tuple[str, ...]


class NearDuplicates:
    """An index of tasks that recognizes near-duplicates of its tasks."""

    def __init__(self) -> None:
        self._requests = _Index(SAME_REQUEST, REQUEST_ROWS)
        self._codes = _Index(SAME_CODE, CODE_ROWS)

    def add(self, task: Task) -> None:
        """Add a backend task to the index; tasks of other domains are ignored."""
        if task.domain == Family.domain:
            self._requests.add(task.id, request_shingles(task.request))
            self._codes.add(task.id, code_shingles(task.hidden.reference))

    def like(self, task: Task) -> str:
        """Describe the similarity of a task to an indexed task that it nearly duplicates; "" if it duplicates none."""
        found = self._requests.nearest(request_shingles(task.request))
        if found:
            return f"the request has a similarity of {found[1]:.0%} to that of {found[0]}"
        found = self._codes.nearest(code_shingles(task.hidden.reference))
        if found:
            return f"the reference has a similarity of {found[1]:.0%} to that of {found[0]}"
        return ""


class _Index:
    """Sets of shingles by name, and the bands of their MinHashes.

    Sets with similarity s agree in at least one band with probability 1 - (1 - s^rows)^(FUNCTIONS/rows).
    """

    def __init__(self, threshold: float, rows: int) -> None:
        self._threshold = threshold
        self._rows = rows
        self._sets: list[tuple[str, frozenset[Shingle]]] = []
        self._holders: dict[bytes, list[int]] = defaultdict(list)

    def add(self, name: str, shingles: frozenset[Shingle]) -> None:
        for band in self._bands(shingles):
            self._holders[band].append(len(self._sets))
        self._sets.append((name, shingles))

    def nearest(self, shingles: frozenset[Shingle]) -> tuple[str, float] | None:
        """Return the name and similarity of the most similar set; None if no set reaches the threshold.

        If several sets are equally similar, the first one is returned.
        """
        candidates = {n for band in self._bands(shingles) for n in self._holders.get(band, ())}
        best, likeness = "", 0.0
        for name, other in (self._sets[n] for n in sorted(candidates)):
            both = len(shingles & other)
            share = both / (len(shingles) + len(other) - both)
            if share > likeness:
                best, likeness = name, share
        return (best, likeness) if likeness >= self._threshold else None

    def _bands(self, shingles: frozenset[Shingle]) -> list[bytes]:
        """Return a key for each band of the MinHash values: the band's number and values as bytes."""
        least = minhash(shingles).reshape(-1, self._rows)
        return [number.to_bytes(2, "big") + band.tobytes() for number, band in enumerate(least)]


def minhash(shingles: frozenset[Shingle]) -> NDArray[np.uint64]:
    """Return the minimum of each hash function over the CRC-32 of the shingles, shape (FUNCTIONS,).

    The functions are x -> (a x + b) mod a prime, with fixed random numbers a and b.
    """
    import numpy as np

    values = [zlib.crc32(" ".join(shingle).encode()) % PRIME for shingle in shingles]
    factors, summands = _functions()
    hashed = (factors[:, None] * np.array(values, np.uint64) + summands[:, None]) % np.uint64(PRIME)
    least: NDArray[np.uint64] = hashed.min(axis=1)
    return least


@cache
def _functions() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    import numpy as np

    random = Random("minhash")  # noqa: S311 - the same functions always
    factors = [random.randrange(1, PRIME) for _ in range(FUNCTIONS)]
    summands = [random.randrange(PRIME) for _ in range(FUNCTIONS)]
    return np.array(factors, np.uint64), np.array(summands, np.uint64)


def request_shingles(request: str) -> frozenset[Shingle]:
    """Return the shingles (runs of words) of a request up to its signature, without case and punctuation."""
    return _shingles(WORD.findall(SIGNATURE.split(request)[0].lower()))


def code_shingles(source: str) -> frozenset[Shingle]:
    """Return the shingles (runs of tokens) of a source, which is normalized first if it is valid Python."""
    with suppress(RejectedError, RecursionError):
        source = ast.unparse(_Renamed().visit(parse(source, "not_a_function")))
    return _shingles(TOKEN.findall(source))


def _shingles(tokens: Sequence[str]) -> frozenset[Shingle]:
    last = max(len(tokens) - SHINGLE, 0)
    return frozenset(tuple(tokens[start : start + SHINGLE]) for start in range(last + 1))


class _Renamed(ast.NodeTransformer):
    """A transformer that normalizes code: it numbers the names defined in it and removes docstrings and annotations."""

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
