"""Marks for cases of a parametrized test that run only in the longer test selections of the Makefile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def mostly(marker: pytest.MarkDecorator, cases: Iterable[Any], *others: Any) -> list[Any]:
    """Return the cases; mark all of them except `others`."""
    return [case if case in others else _marked(marker, case) for case in cases]


def _marked(marker: pytest.MarkDecorator, case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=marker)
