"""Cases of a parametrized test that only the longer selections of the Makefile run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest


def mostly(marker: pytest.MarkDecorator, cases: Iterable[Any], *others: Any) -> Iterator[Any]:
    """Yield the cases, marked except for `others`; a case of several values is named by the first."""
    for case in cases:
        values = case if isinstance(case, tuple) else (case,)
        yield case if values[0] in others else pytest.param(*values, marks=marker)
