"""A model that scores sequences, and the cache that keeps its values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sweet_rl_trainer.settings import Score

if TYPE_CHECKING:
    from torch import Tensor

    from sweet_rl_trainer.model.packing import Group, Row
    from sweet_rl_trainer.train.reference_cache import Kind, ReferenceCache


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scorer:
    """A model that computes log-probabilities or values, with a cache of its results."""

    cache: ReferenceCache
    logprobs: Callable[[Row], Tensor]
    """A function that returns the log-probabilities or values of the weighted tokens in a row (`loss.READERS`)."""
    share: bool
    """True if a common prefix of sequences in a row is computed only once."""
    score: Score = "log-ratio"
    """The kind of score that the model was trained for."""


def group_values(
    groups: Sequence[Group], model: Scorer, budget: int, name: str = "dialogues"
) -> list[list[float]]:
    """Return the value of each trajectory (`Parts`), by group: Σ w log π, or Σ w v for a value model.

    If the model shares prefixes, the trajectories of a group are computed in one row. `name` is shown on the console.
    """
    kind: Kind = "value" if model.score == "value" else "sum"
    together = groups if model.share else [[parts] for group in groups for parts in group]
    model.cache.fill(
        together, model.logprobs, kind=kind, budget=budget, share=model.share, name=name
    )
    return [[model.cache.get(parts, kind).item() for parts in group] for group in groups]
