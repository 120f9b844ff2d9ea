"""Sequences in one row: without padding, blind to one another, and with what they have in common computed once.

`pack` chooses what goes together. `lay_out` writes groups of sequences (a pair, the candidates of a turn) one after
another into a `Row`: positions restart with every sequence, and each token that counts is listed with the place that
predicts it. With `share`, what all sequences of a group begin with stands there once, and each remainder is a branch:

    sequences   a b c d e   and   a b c f g h        (one group)
    row         a b c | d e | f g h        positions   0 1 2 | 3 4 | 3 4 5

Who may see whom is for the model's attention to carry out: see `attention.py`.
"""

from __future__ import annotations

import dataclasses
import random
from bisect import bisect_left, insort
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

LikelihoodOver = Literal["replies", "everything"]
"""What the NLL of a sequence is the mean over: the tokens with a weight, or (the released actor) all but the first."""


class Weighted(Protocol):
    """A sequence of tokens, some of which count."""

    @property
    def ids(self) -> Sequence[int]:
        """The tokens."""

    @property
    def weights(self) -> Sequence[float]:
        """Of each token; 0 where it does not count."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """T tokens of several sequences, and N places among them where a token that counts is predicted."""

    ids: Tensor
    """[T]"""
    positions: Tensor
    """[T]: of each token in its own sequence, from 0."""
    trees: Tensor
    """[T]: the same number for the tokens of one sequence, or of a group that shares its beginning."""
    branches: Tensor
    """[T]: 0 for a shared beginning, which its whole tree sees; else a number, from 1, whose tokens only they see."""
    lengths: tuple[int, ...]
    """Of the trees, in the order of the row."""
    shares: bool
    """Whether some tree has branches."""
    predictors: Tensor
    """[N]: the place in the row whose hidden state predicts the token."""
    targets: Tensor
    """[N]: the token predicted."""
    weights: Tensor
    """[N], float32: w of the score S."""
    likelihood: Tensor
    """[N], float32: what makes log-probabilities the mean that NLL⁺ is of; 0 for all but a group's first sequence."""
    owners: Tensor
    """[N]: the number of the sequence, counted over all groups."""
    count: int
    """How many sequences there are."""

    def to(self, device: torch.device | str) -> Row:
        """The same row on a device."""
        moved: dict[str, Any] = {
            name: value.to(device, non_blocking=True)
            for name, value in vars(self).items()
            if isinstance(value, Tensor)
        }
        return dataclasses.replace(self, **moved)

    def sums(self, values: Tensor) -> Tensor:
        """Values at the N places, added up for each sequence: [N] gives [count]."""
        return values.new_zeros(self.count).index_add(0, self.owners, values)


def pack(lengths: Sequence[int], budget: int, *, seed: int) -> list[list[int]]:
    """Bins of item numbers that hold at most `budget` tokens each, by best fit, longest first.

    What is longer than the budget has a bin to itself. The seed decides among equal lengths and on the bins' order.
    """
    chance = random.Random(seed)  # noqa: S311 - an order, not a secret
    order = list(range(len(lengths)))
    chance.shuffle(order)
    order.sort(key=lambda item: -lengths[item])
    bins: list[list[int]] = []
    rooms: list[tuple[int, int]] = []
    """What is left of each bin, ascending, and the bin's number."""
    for item in order:
        place = bisect_left(rooms, (lengths[item], 0))
        if place < len(rooms):
            room, number = rooms.pop(place)
        else:
            room, number = budget, len(bins)
            bins.append([])
        bins[number].append(item)
        insort(rooms, (room - lengths[item], number))
    chance.shuffle(bins)
    return bins


def common_prefix(group: Sequence[Weighted]) -> int:
    """How many tokens all sequences of a group begin with."""
    columns = zip(*(sequence.ids for sequence in group), strict=False)
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))


def packed_length(group: Sequence[Weighted], *, share: bool = False) -> int:
    """How many tokens of a row a group takes."""
    saved = (len(group) - 1) * common_prefix(group) if share else 0
    return sum(len(sequence.ids) for sequence in group) - saved


def lay_out(
    groups: Sequence[Sequence[Weighted]],
    *,
    share: bool = False,
    likelihood: LikelihoodOver = "replies",
) -> Row:
    """One row of all sequences of all groups; in a pair the chosen one comes first.

    Raises ValueError where ids and weights differ in number, and for a weight on a first token, which nothing predicts.
    """
    writer = _Writer()
    for group in groups:
        shared = common_prefix(group) if share and len(group) > 1 else 0
        if shared:
            writer.begin_tree(group[0].ids[:shared])
        for number, sequence in enumerate(group):
            if not shared:
                writer.begin_tree()
            writer.add(sequence, shared, likelihood if number == 0 else None)
    return writer.row()


class _Writer:
    """A row in the making; each list is the field of that name."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.positions: list[int] = []
        self.branches: list[int] = []
        self.predictors: list[int] = []
        self.targets: list[int] = []
        self.weights: list[float] = []
        self.likelihood: list[float] = []
        self.owners: list[int] = []
        self.count = 0
        self._starts: list[int] = []
        """Of the trees."""

    def begin_tree(self, trunk: Sequence[int] = ()) -> None:
        """What follows shares this beginning, and sees nothing before it."""
        self._starts.append(len(self.ids))
        self._write(trunk, 0, 0)

    def _write(self, ids: Sequence[int], position: int, branch: int) -> None:
        self.ids.extend(ids)
        self.positions.extend(range(position, position + len(ids)))
        self.branches.extend([branch] * len(ids))

    def add(self, sequence: Weighted, shared: int, likelihood: LikelihoodOver | None) -> None:
        """Write a sequence whose first `shared` tokens are the tree's beginning."""
        ids, weights = sequence.ids, sequence.weights
        if len(ids) != len(weights) or (len(weights) and weights[0]):
            raise ValueError("a sequence needs as many weights as tokens, and 0 for the first")
        trunk, branch = self._starts[-1], len(self.ids) - shared
        means = _mean_weights(weights, likelihood)
        for place in range(1, len(ids)):
            if weights[place] or means[place]:
                self.predictors.append((trunk if place <= shared else branch) + place - 1)
                self.targets.append(ids[place])
                self.weights.append(weights[place])
                self.likelihood.append(means[place])
                self.owners.append(self.count)
        self.count += 1
        self._write(ids[shared:], shared, self.count)

    def row(self) -> Row:
        """What was written."""
        ends = [*self._starts[1:], len(self.ids)]
        lengths = [end - start for start, end in zip(self._starts, ends, strict=True)]
        whole = {name: torch.tensor(getattr(self, name), dtype=torch.long) for name in _WHOLE}
        return Row(
            **whole,
            weights=torch.tensor(self.weights, dtype=torch.float32),
            likelihood=torch.tensor(self.likelihood, dtype=torch.float32),
            trees=torch.arange(len(lengths)).repeat_interleave(torch.tensor(lengths)),
            lengths=tuple(lengths),
            shares=0 in self.branches,
            count=self.count,
        )


_WHOLE = ("ids", "positions", "branches", "predictors", "targets", "owners")


def _mean_weights(weights: Sequence[float], over: LikelihoodOver | None) -> list[float]:
    counts = [
        weight != 0 or (over == "everything" and place > 0) for place, weight in enumerate(weights)
    ]
    if over is None or not any(counts):
        return [0.0] * len(weights)
    return [1 / sum(counts) if yes else 0.0 for yes in counts]
