"""What stands for a task and a dialogue in addresses; ids are free text and never part of a path."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256

DIGITS = 12
LEAF = 25
"""Dialogues on a page."""


@lru_cache(maxsize=1 << 16)
def task_key(task_id: str) -> str:
    """A task's id as hexadecimal digits; on one board ids are unique."""
    return sha256(task_id.encode()).hexdigest()[:DIGITS]


def anchor(task_id: str, trial: int) -> str:
    """A dialogue on its page."""
    return f"d-{task_key(task_id)}-{trial + 1}"


def leaf_name(number: int) -> str:
    """A page of dialogues, from 1."""
    return f"dialogues-{number:03d}.html"


def leaf_of(place: int) -> str:
    """The page of the dialogue at this place among those of an entry, from 0."""
    return leaf_name(place // LEAF + 1)
