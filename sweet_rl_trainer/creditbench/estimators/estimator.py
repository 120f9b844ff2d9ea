"""The interface of estimators."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from sweet_rl_trainer.creditbench.states import Bench

Scores = tuple[float | None, ...]
"""Scores of the candidates of a state, in order; None if a candidate cannot be scored."""
Score = Callable[[Bench], Sequence[Scores]]
"""A function that returns, for each state of a task, the scores of the state's candidates."""


class Estimator(Struct, frozen=True, kw_only=True):
    """One way to score candidates."""

    name: str
    about: str
    """The formula, in a few words, for the page."""
    key: str = ""
    """Inputs on which the scores depend in addition to the states and the name, for example a model's digest."""
    costly: bool = False
    """True if the estimator is run on only some of the states, because a model reads every candidate."""
    score: Score
