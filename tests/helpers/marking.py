"""Cases of a parametrized test that only the longer selections of the Makefile run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def mostly(marker: pytest.MarkDecorator, cases: Iterable[Any], *others: Any) -> list[Any]:
    """Return the cases, marked except for `others`."""
    return [case if case in others else _marked(marker, case) for case in cases]


def _marked(marker: pytest.MarkDecorator, case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=marker)
