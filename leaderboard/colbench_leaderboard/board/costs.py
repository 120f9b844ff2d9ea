"""An agent's mean usage per dialogue: tokens as stated in the bundle, and dollars at the price of the run."""

from __future__ import annotations

from collections.abc import Collection, Iterator
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
    """The fields of a trajectory from which costs are computed."""

    task_id: str
    turns: tuple[_Turn, ...]


def mean_tokens(results: Results, bundle: str) -> float | None:
    """Return the mean number of the agent's tokens per dialogue: prompt plus completion tokens.

    Return None if the tokens of any reply are unknown. A missing dialogue counts as 0 tokens.
    """
    import numpy as np

    tokens = results.tokens(bundle)
    return None if np.isnan(tokens).any() else rounded(float(tokens.mean()))


def mean_cost(results: Results, bundle: str, folder: Path, lock: Lock) -> float | None:
    """Return the mean cost of a dialogue in US dollars.

    Return None unless the run stated a price, the bundle has a dialogue, and the tokens of every reply are known.

    A missing dialogue counts as 0 dollars. `folder`: the bundle's folder, which `read_bundle` must have checked.
    """
    price = _price(lock)
    usages = list(_usages(folder, set(results.tasks))) if price else []
    if price is None or not usages or None in usages:
        return None
    prompt = sum(usage.prompt_tokens for usage in usages if usage)
    completion = sum(usage.completion_tokens for usage in usages if usage)
    return rounded((prompt * price[0] + completion * price[1]) / 1e6 / results.tokens(bundle).size)


def _price(lock: Lock) -> Price | None:
    try:
        price: Price = msgspec.convert(lock.config.get("agent_price"), Price)
    except msgspec.ValidationError:
        return None
    return price


def _usages(folder: Path, tasks: Collection[str]) -> Iterator[Usage | None]:
    """Yield the agent's usage in each dialogue on these tasks; None if any reply's usage is unknown."""
    decoder = msgspec.json.Decoder(_Trajectory)
    for path in sorted((folder / TRAJECTORIES).iterdir()):
        with path.open("rb") as lines:
            for line in lines:
                trajectory = decoder.decode(line)
                usages = [turn.agent_usage for turn in trajectory.turns]
                known = [usage for usage in usages if usage]
                if trajectory.task_id in tasks:
                    yield sum(known, Usage()) if len(known) == len(usages) else None
