"""Measures of replies in addition to the loss: their lengths, the KL to the reference, and entropy by turn.

They cover only the tokens with a nonzero weight: the tokens that the agent wrote, except in turns that a method leaves
out. With `likelihood_over = "everything"`, a `Row` also lists tokens of the system and the human, which contribute only
to the NLL.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sweet_rl_trainer.model.packing import Row

TURNS = 10
"""Number of turns with separate entropies; later turns count toward the last one."""


def length_metrics(row: Row) -> dict[str, Tensor]:
    """Return `length`: the number of reply tokens of each trajectory to imitate, [count]."""
    return {"length": _lengths(row)}


def pair_metrics(
    row: Row, chosen: Tensor, rejected: Tensor, *, referred: bool
) -> dict[str, Tensor]:
    """Return the number of reply tokens of each side of a pair and, with a reference (`referred`), `kl`; each is [P].

    `kl` is the weighted mean of log π_ref − log π_θ over the tokens of a pair: −(S⁺ + S⁻) / (W⁺ + W⁻), where W is the
    sum of a side's token weights. If the reference wrote the replies, `kl` estimates KL(π_ref‖π_θ) per token. `chosen`
    and `rejected` are the scores S, [P].
    """
    first, second = _lengths(row).view(-1, 2).unbind(1)
    found = {"length_chosen": first, "length_rejected": second}
    if referred:
        weights = row.sums(row.token_weights).view(-1, 2).sum(1)
        found["kl"] = -(chosen + rejected).detach() / weights
    return found


def _lengths(row: Row) -> Tensor:
    return row.sums(_written(row).float())


def _written(row: Row) -> Tensor:
    return row.token_weights != 0


def turn_numbers(row: Row) -> Tensor:
    """Return the turn, from 0, of each token that the agent wrote, [M].

    A turn is a run of adjacent tokens of the agent; it ends at the human's message or at the end of the sequence.
    """
    written = _written(row)
    positions, owners = row.positions[row.places[written]], row.owners[written]
    begins = torch.ones_like(owners, dtype=torch.bool)
    begins[1:] = (positions[1:] != positions[:-1] + 1) | (owners[1:] != owners[:-1])
    counted = begins.cumsum(0)
    return counted - counted[torch.searchsorted(owners, owners)]


class EntropyByTurn:
    """Sums of token entropies, and numbers of tokens, by turn."""

    def __init__(self, device: torch.device) -> None:
        self.sums = torch.zeros(2, TURNS, device=device)
        """Sums of entropies, and numbers of tokens."""

    def add(self, row: Row, entropies: Tensor) -> None:
        """Add the entropies, [N], of a row's tokens."""
        turns, found = turn_numbers(row).clamp(max=TURNS - 1), entropies[_written(row)]
        self.sums.index_add_(1, turns, torch.stack([found, torch.ones_like(found)]))

    @staticmethod
    def means(sums: Tensor) -> dict[str, float]:
        """Return `entropy` (the mean over all tokens) and, for several turns, `entropy_turn_1` …; {} for 0 tokens."""
        totals, counts = sums.tolist()
        if not sum(counts):
            return {}
        named = {
            f"entropy_turn_{number}": total / count
            for number, (total, count) in enumerate(zip(totals, counts, strict=True), 1)
            if count
        }
        whole = {"entropy": sum(totals) / sum(counts)}
        return whole | (named if len(named) > 1 else {})
