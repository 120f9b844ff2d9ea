"""Sequences packed into one row without padding, isolated from each other, with common prefixes computed once.

`pack` chooses which groups share a row, and `lay_out` writes them into a `Row`. Positions restart with every sequence.
Each token that counts in the loss is listed with the index of the position that predicts it.

With `share`, sequences with a common prefix share its tokens: the row is their prefix tree in depth-first order. A
token is visible up to the end of its subtree (`ends`):

    sequences   a b c d e   and   a b c f g h
    row         a b c | d e | f g h      positions   0 1 2 | 3 4 | 3 4 5      ends   8 8 8 | 5 5 | 8 8 8

The model's attention must enforce this visibility (`attention`).
"""

from __future__ import annotations

import dataclasses
import random
from bisect import bisect_left, insort
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

LikelihoodOver = Literal["replies", "everything"]
"""The tokens in the mean NLL.

"replies": the tokens with a nonzero weight. "everything" (the released actor): all tokens except each sequence's first.
"""


class Weighted(Protocol):
    """A sequence of tokens, some of which contribute to the loss."""

    @property
    def ids(self) -> Sequence[int]:
        """The tokens."""

    @property
    def token_weights(self) -> Sequence[float]:
        """The weight of each token; 0 for a token that does not count."""

    @property
    def pictures(self) -> Sequence[str]:
        """Names of the pictures whose tokens the sequence contains, in order (see `data.pictures`)."""


Parts = Sequence[Weighted]
"""The sequences of a trajectory, which get a single score: one sequence, or one for each turn."""

Group = Sequence[Parts]
"""Trajectories that stay in one row: a pair with the chosen side first, the candidates of a turn, or one success."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """A packed row: T tokens of several sequences, with N entries for the tokens that count in the loss."""

    ids: Tensor
    """[T]: the token IDs."""
    positions: Tensor
    """[T]: the position of each token in its own sequence, from 0."""
    ends: Tensor
    """[T]: the index in the row at which the token's visibility ends (exclusive)."""
    lengths: tuple[int, ...]
    """The number of tokens that each sequence adds to the row, in the row's order."""
    shares: bool
    """True if some token belongs to several sequences."""
    predictors: Tensor
    """[N]: the index in the row of the position that predicts the token."""
    places: Tensor
    """[N]: the index in the row of the token itself."""
    targets: Tensor
    """[N]: the ID of the token."""
    token_weights: Tensor
    """[N], float32: the weight w of the token in the score S."""
    likelihood: Tensor
    """[N], float32: the factor of the token's log-probability in the mean NLL; 0 except in the first `Parts` of an
    imitated group."""
    owners: Tensor
    """[N], ascending: the number that identifies the `Parts` to whose score the token contributes."""
    count: int
    """Number of `Parts` in the row."""
    pictures: tuple[str, ...] = ()
    """Names of the pictures of all sequences, in order. A row with pictures is run as a padded batch (`vision`)."""
    pixels: Tensor | None = None
    """[patches, values], float32: the pixel values of the pictures' patches (`vision.Pixels`)."""
    grids: Tensor | None = None
    """[pictures, 3]: the number of patches of each picture in time, height and width."""

    def to(self, device: torch.device | str) -> Row:
        """Return the row on a device."""
        moved: dict[str, Any] = {
            name: value.to(device, non_blocking=True)
            for name, value in vars(self).items()
            if isinstance(value, Tensor)
        }
        return dataclasses.replace(self, **moved)

    def sums(self, values: Tensor) -> Tensor:
        """Return the sum of values for each `Parts`, [count]; `values`, [N], has one value per counted token."""
        return values.new_zeros(self.count).index_add(0, self.owners, values)


def pack(lengths: Sequence[int], budget: int, *, seed: int) -> list[list[int]]:
    """Pack groups of these lengths into bins of at most `budget` tokens, and return the group numbers in each bin.

    The longest groups come first, and each goes into the fullest bin with enough room. A group longer than the budget
    gets its own bin. The seed determines the order of groups of equal length, and the order of the bins.
    """
    chance = random.Random(seed)  # noqa: S311 - an order, not a secret
    order = list(range(len(lengths)))
    chance.shuffle(order)
    order.sort(key=lambda item: -lengths[item])
    bins: list[list[int]] = []
    rooms: list[tuple[int, int]] = []
    """The free space of each bin in ascending order, with the bin's number."""
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


def row_budget(groups: Sequence[Group], row_tokens: int) -> int:
    """Return the token budget of a row: `row_tokens`.

    If sequences have pictures, return 1, so that each group has its own row.
    """
    pictured = any(part.pictures for group in groups for parts in group for part in parts)
    return 1 if pictured else row_tokens


def packed_length(group: Group, *, share: bool = False) -> int:
    """Return how many tokens of a packed row a group needs; with `share`, common prefixes count once."""
    sequences = [list(part.ids) for parts in group for part in parts]
    saved = sum(common_beginning(*pair) for pair in pairwise(sorted(sequences))) if share else 0
    return sum(map(len, sequences)) - saved


def common_beginning(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the length of the common prefix, in tokens."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (x, y) in pairs if x != y), min(len(one), len(other)))


def lay_out(
    groups: Sequence[Group],
    *,
    share: bool = False,
    likelihood: LikelihoodOver = "replies",
    imitated: Sequence[bool] | None = None,
) -> Row:
    """Lay out the sequences of all groups in one row.

    The NLL covers only the first `Parts` of each group that is True in `imitated` (default: all groups). Raises
    ValueError if a sequence has unequal numbers of IDs and weights, if its first token, which nothing predicts, has a
    weight, or if sequences with pictures would share prefixes.
    """
    kept = imitated or [True] * len(groups)
    scored = [
        (parts, place == 0 and counts)
        for group, counts in zip(groups, kept, strict=True)
        for place, parts in enumerate(group)
    ]
    sequences = [part for parts, _ in scored for part in parts]
    pictures = tuple(name for sequence in sequences for name in sequence.pictures)
    if pictures and share:
        raise ValueError("sequences with pictures cannot share prefixes")
    tokens = _Tokens([list(sequence.ids) for sequence in sequences], share)
    counted = _Counted()
    paths = iter(tokens.paths)
    for parts, first in scored:
        means = _means(parts, likelihood if first else None)
        for part, mean in zip(parts, means, strict=True):
            counted.add(part, mean, next(paths))
        counted.count += 1
    return Row(
        ids=torch.tensor(tokens.ids, dtype=torch.long),
        positions=torch.tensor(tokens.positions, dtype=torch.long),
        ends=torch.tensor(tokens.ends, dtype=torch.long),
        lengths=tuple(tokens.lengths),
        shares=len(tokens.ids) < sum(map(len, tokens.paths)),
        predictors=torch.tensor(counted.predictors, dtype=torch.long),
        places=torch.tensor(counted.places, dtype=torch.long),
        targets=torch.tensor(counted.targets, dtype=torch.long),
        token_weights=torch.tensor(counted.token_weights, dtype=torch.float32),
        likelihood=torch.tensor(counted.likelihood, dtype=torch.float32),
        owners=torch.tensor(counted.owners, dtype=torch.long),
        count=counted.count,
        pictures=pictures,
    )


class _Tokens:
    """The tokens of a row. `paths` lists, for each sequence, the indices of its tokens in the row.

    With `share`, the sequences are sorted, and each sequence adds only the tokens after the prefix that it shares with
    the previous sequence. The row is then a prefix tree in depth-first order.
    """

    def __init__(self, sequences: list[list[int]], share: bool) -> None:
        self.ids: list[int] = []
        self.positions: list[int] = []
        self.ends: list[int] = []
        self.lengths: list[int] = []
        self.paths: list[list[int]] = [[] for _ in sequences]
        order = list(range(len(sequences)))
        if share:
            order.sort(key=lambda number: sequences[number])
        before: list[int] = []
        path: list[int] = []
        for number in order:
            ids = sequences[number]
            shared = common_beginning(before, ids) if share else 0
            self._close(path[shared:])
            start, added = len(self.ids), len(ids) - shared
            path = path[:shared] + list(range(start, start + added))
            self.ids += ids[shared:]
            self.positions += range(shared, len(ids))
            self.ends += [0] * added
            self.lengths.append(added)
            self.paths[number] = path
            before = ids
        self._close(path)

    def _close(self, places: list[int]) -> None:
        for place in places:
            self.ends[place] = len(self.ids)


class _Counted:
    """The tokens that count in the loss. Each list attribute becomes the field of the same name in `Row`."""

    def __init__(self) -> None:
        self.predictors: list[int] = []
        self.places: list[int] = []
        self.targets: list[int] = []
        self.token_weights: list[float] = []
        self.likelihood: list[float] = []
        self.owners: list[int] = []
        self.count = 0

    def add(self, sequence: Weighted, means: Sequence[float], path: Sequence[int]) -> None:
        """Add the tokens of a sequence that have a nonzero weight, or a nonzero factor in `means`.

        `path[i]` is the index in the row of the sequence's token i.
        """
        weights = sequence.token_weights
        if len(path) != len(weights):
            raise ValueError(
                f"token_weights: {len(weights)} weights for {len(path)} tokens; a sequence needs one weight per token"
            )
        if len(weights) and weights[0]:
            raise ValueError(
                "token_weights: the first weight of a sequence must be 0, because nothing predicts the first token"
            )
        for place in range(1, len(path)):
            if weights[place] or means[place]:
                self.predictors.append(path[place - 1])
                self.places.append(path[place])
                self.targets.append(sequence.ids[place])
                self.token_weights.append(weights[place])
                self.likelihood.append(means[place])
                self.owners.append(self.count)


def _means(parts: Parts, over: LikelihoodOver | None) -> list[list[float]]:
    """Return each token's weight in the mean NLL of a trajectory. If `over` is None, all weights are 0."""
    counts = [
        [
            weight != 0 or (over == "everything" and place > 0)
            for place, weight in enumerate(part.token_weights)
        ]
        for part in parts
    ]
    total = sum(map(sum, counts)) if over else 0
    return [[yes / total if total else 0.0 for yes in part] for part in counts]
