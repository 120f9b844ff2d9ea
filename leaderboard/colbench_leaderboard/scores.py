"""Keys that would be scores: an entry has none, as everything is recomputed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

SCORES = {
    "acc",
    "accuracy",
    "cosine",
    "grade",
    "grades",
    "mean",
    "metric",
    "metrics",
    "pass",
    "passed",
    "rank",
    "ranking",
    "result",
    "results",
    "reward",
    "rewards",
    "score",
    "scored",
    "scores",
    "ssim",
    "success",
    "successes",
    "value",
    "values",
    "win",
    "wins",
}
"""Words of a key that would be a score."""


def score_key(values: Any) -> str:
    """The first key, with those above it, that would be a score; "" where there is none."""
    for key, _ in keys(values):
        words = re.findall(r"[a-z]+", re.sub(r"([A-Z])", r" \1", key.rpartition(".")[2]).lower())
        if SCORES.intersection(words):
            return key
    return ""


def keys(values: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every key of dictionaries in one another, with those above it, and its value."""
    if isinstance(values, list):
        for value in values:
            yield from keys(value, prefix)
    elif isinstance(values, dict):
        for key, value in values.items():
            yield f"{prefix}{key}", value
            yield from keys(value, f"{prefix}{key}.")
