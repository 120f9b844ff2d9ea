"""The division of examples into optimizer steps and rows.

The division does not depend on earlier steps, so a resumed run continues exactly where its checkpoint ended. Every
process can also compute the rows of all processes, so that all processes get the same number of rows, of about the same
length.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import zip_longest

import torch
from msgspec import Struct
from torch import Tensor
from torch.utils.data import Dataset

from colbench.config import derive_seed
from sweet_rl_trainer.data.examples import Examples, PairExample, Side
from sweet_rl_trainer.model.packing import (
    Group,
    Row,
    lay_out,
    pack,
    packed_length,
    row_budget,
)
from sweet_rl_trainer.settings import TrainSettings
from sweet_rl_trainer.train.reference_cache import ReferenceCache


class Packed(Struct, frozen=True, kw_only=True):
    """A row of the batch, with the other data that the row's loss needs."""

    row: Row
    reference: Tensor
    """Σ w log π_ref of each trajectory in the row, [count]; empty for successes and for value models."""
    names: tuple[str, ...]
    """Names of the row's examples, in order."""
    counts: bool = True
    """False for a row that does not affect the loss: it is run only because other processes have one row more."""


class Step(Struct, frozen=True, kw_only=True):
    """The part of an optimizer step that one process computes."""

    rows: list[Packed]
    size: int
    """Number of examples in the step, over all processes. The sum of the examples' losses is divided by this number."""
    tokens: int
    """Number of tokens in these examples."""
    names: tuple[str, ...]
    """Names of these examples."""


def group(example: PairExample | Side) -> Group:
    """Return the sequences of an example, which must stay in one row. In a pair, the chosen sequences come first."""
    if isinstance(example, PairExample):
        return [example.chosen.examples, example.rejected.examples]
    return [example.examples]


def imitated(example: PairExample | Side) -> bool:
    """Return True if the NLL includes the example (for a pair: the chosen side)."""
    return not isinstance(example, PairExample) or example.imitated


def name(example: PairExample | Side) -> str:
    """Return the name by which messages call an example: the names of its trajectories."""
    if isinstance(example, PairExample):
        return f"{example.chosen.trajectory} over {example.rejected.trajectory}"
    return example.trajectory


class Packer:
    """A packer of examples into rows.

    For pairs, `reference` must contain the reference values of all examples. For successes and for a value model,
    `reference` is None. This process is number `rank` of `world` processes.
    """

    def __init__(
        self,
        examples: Examples,
        reference: ReferenceCache | None,
        settings: TrainSettings,
        *,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        self.examples = examples
        self._reference = reference
        self._settings = settings
        self._rank, self._world = rank, world
        groups = list(map(group, examples))
        self._lengths = [packed_length(each, share=settings.share_beginnings) for each in groups]
        self._budget = row_budget(groups, settings.row_tokens)

    def tokens(self, numbers: Sequence[int]) -> int:
        """Return the number of tokens that the examples with these numbers occupy after packing."""
        return sum(self._lengths[number] for number in numbers)

    def bins(self, numbers: Sequence[int], *, seed: int) -> list[tuple[list[int], bool]]:
        """Return the examples' numbers in each row of this process, and whether the row counts (`Packed.counts`)."""
        packed = pack([self._lengths[number] for number in numbers], self._budget, seed=seed)
        rows = [[numbers[place] for place in each] for each in packed]
        self._split(rows)
        rows.sort(key=self.tokens, reverse=True)
        rounds = zip_longest(*(rows[rank :: self._world] for rank in range(self._world)))
        mine = (each[self._rank] for each in rounds)
        return [(rows[0], False) if each is None else (each, True) for each in mine]

    def _split(self, rows: list[list[int]]) -> None:
        """Halve the longest rows until all processes get the same number of rows, or no row can be halved."""
        while len(rows) % self._world:
            several = [each for each in rows if len(each) > 1]
            if not several:
                return
            longest = max(several, key=self.tokens)
            rows.remove(longest)
            rows += [longest[::2], longest[1::2]]

    def row(self, numbers: Sequence[int], counts: bool = True) -> Packed:
        """Lay out the examples with these numbers in one row."""
        chosen = [self.examples[number] for number in numbers]
        groups = [group(each) for each in chosen]
        known = (
            [self._reference.get(parts) for each in groups for parts in each]
            if self._reference
            else []
        )
        return Packed(
            row=lay_out(
                groups,
                share=self._settings.share_beginnings,
                likelihood=self._settings.likelihood_over,
                imitated=[imitated(each) for each in chosen],
            ),
            reference=torch.cat(known) if known else torch.empty(0),
            names=tuple(map(name, chosen)),
            counts=counts,
        )


class Plan(Dataset[Step]):
    """The optimizer steps of a run; the last step of an epoch may have fewer examples than the other steps."""

    def __init__(self, packer: Packer, settings: TrainSettings) -> None:
        self._packer = packer
        self._settings = settings
        self._steps = settings.steps(len(packer.examples))
        self.per_epoch = settings.steps_of_epoch(len(packer.examples))

    def __len__(self) -> int:
        return self._steps

    def numbers(self, step: int) -> list[int]:
        """Return the indices of the examples in a step; steps count from 0."""
        epoch, place = divmod(step, self.per_epoch)
        order = list(range(len(self._packer.examples)))
        random.Random(derive_seed("order", self._settings.seed, epoch)).shuffle(order)  # noqa: S311 - no secret
        return order[place * self._settings.batch_size : (place + 1) * self._settings.batch_size]

    def __getitem__(self, step: int) -> Step:
        numbers = self.numbers(step)
        bins = self._packer.bins(numbers, seed=derive_seed("rows", self._settings.seed, step))
        return Step(
            rows=[self._packer.row(each, counts) for each, counts in bins],
            size=len(numbers),
            tokens=self._packer.tokens(numbers),
            names=tuple(name(self._packer.examples[number]) for number in numbers),
        )
