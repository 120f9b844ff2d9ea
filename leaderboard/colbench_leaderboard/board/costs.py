"""Usage of an entry's agent: tokens as stated in the bundle, and dollars at the price stated in the run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from colbench.config import Price
from colbench.messages import Usage
from colbench.stats import rounded
from colbench_leaderboard.board.results import Results
from colbench_leaderboard.bundle.schema import TRAJECTORIES, Lock


class _Turn(Struct):
    agent_usage: Usage | None = None


class _Trajectory(Struct):
    """The part of a trajectory that contains the agent's usage."""

    turns: tuple[_Turn, ...]


def mean_tokens(results: Results, bundle: str) -> float | None:
    """Return the prompt and completion tokens per dialogue, averaged over tasks; None if any dialogue's are unknown."""
    import numpy as np

    tokens = results.tokens(bundle)
    return None if np.isnan(tokens).any() else rounded(float(tokens.mean()))


def mean_cost(folder: Path, lock: Lock) -> float | None:
    """Return the US dollars per dialogue; None unless the run stated a price and the tokens of every reply are known.

    `folder`: the folder of a bundle that `read_bundle` has checked.
    """
    price = _price(lock)
    usages = list(_usages(folder)) if price else []
    if price is None or not usages or None in usages:
        return None
    prompt = sum(usage.prompt_tokens for usage in usages if usage)
    completion = sum(usage.completion_tokens for usage in usages if usage)
    return rounded((prompt * price[0] + completion * price[1]) / 1e6 / len(usages))


def _price(lock: Lock) -> Price | None:
    try:
        price: Price = msgspec.convert(lock.config.get("agent_price"), Price)
    except msgspec.ValidationError:
        return None
    return price


def _usages(folder: Path) -> Iterator[Usage | None]:
    """Yield the agent's usage in each dialogue; None for a dialogue in which the usage of any reply is unknown."""
    decoder = msgspec.json.Decoder(_Trajectory)
    for path in sorted((folder / TRAJECTORIES).iterdir()):
        with path.open("rb") as lines:
            for line in lines:
                usages = [turn.agent_usage for turn in decoder.decode(line).turns]
                known = [usage for usage in usages if usage]
                yield sum(known, Usage()) if len(known) == len(usages) else None
