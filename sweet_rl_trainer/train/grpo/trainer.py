"""TRL's trainer on rows that hold several sequences, which do not see one another.

To TRL a dialogue is one row: a prompt, a completion, and one advantage for all that the agent wrote in it. The loss,
the masks and the means over a dialogue's tokens stay TRL's. Only the forward pass differs: a dialogue of several
sequences (`sequences.DialogueRow`) is run as that many rows, and their log-probabilities are put back in place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from trl import GRPOTrainer

from sweet_rl_trainer.train.grpo.sequences import Part

Forward = tuple[Tensor, Tensor | None, Tensor | None]
"""Log-probabilities, entropies, and the load-balancing loss of a mixture of experts."""


class DialogueTrainer(GRPOTrainer):  # type: ignore[misc]
    """TRL's GRPO trainer, whose rows are dialogues. `hold` is called with each batch of dialogues."""

    _parts: Tensor

    def hold(self, parts: Sequence[Sequence[Part]]) -> None:
        """Keep the sequences of the rows that are being made."""
        each = [torch.tensor(row, dtype=torch.long) for row in parts]
        self._parts = pad_sequence(each, batch_first=True)

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        return {**super()._generate_and_score_completions(inputs), "parts": self._parts}

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Tensor:
        self._parts = inputs["parts"]
        loss: Tensor = super()._compute_loss(model, inputs)
        return loss

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: Tensor,
        attention_mask: Tensor,
        logits_to_keep: int,
        batch_size: int | None = None,
        **options: Any,
    ) -> Forward:
        parts = [[(one, other) for one, other in row if other] for row in self._parts.tolist()]
        forward = super()._get_per_token_logps_and_entropies
        if all(len(row) == 1 for row in parts):
            whole: Forward = forward(
                model, input_ids, attention_mask, logits_to_keep, batch_size, **options
            )
            return whole
        size = batch_size or len(parts)
        found: list[Forward] = []
        for rows in (slice(first, first + size) for first in range(0, len(parts), size)):
            ids = list(map(_unpadded, input_ids[rows], attention_mask[rows]))
            logps, entropies, aux = forward(model, *self._batch(ids, parts[rows]), **options)
            if entropies is not None:
                entropies = _in_rows(entropies, parts[rows], logits_to_keep)
            found.append((_in_rows(logps, parts[rows], logits_to_keep), entropies, aux))
        return _joined(found)

    def _batch(
        self, rows: Sequence[Tensor], parts: Sequence[Sequence[Part]]
    ) -> tuple[Tensor, Tensor, int]:
        """Return the sequences of some dialogues as a batch as TRL has it: ids, mask, and tokens to keep."""
        sizes = [size for row in parts for part in row for size in part]
        pieces = torch.split(torch.cat(list(rows)), sizes)
        ids = _padded(pieces, self._tokenizer.pad_token_id)
        mask = _padded([torch.ones_like(piece) for piece in pieces], 0)
        return ids, mask, max(map(len, pieces[1::2]))


def _padded(pieces: Sequence[Tensor], value: int) -> Tensor:
    """Return a batch of prompts, padded on the left, and completions, padded on the right, which alternate."""
    prompts = pad_sequence(list(pieces[::2]), True, value, "left")
    completions = pad_sequence(list(pieces[1::2]), True, value, "right")
    return torch.cat([prompts, completions], dim=1)


def _unpadded(ids: Tensor, mask: Tensor) -> Tensor:
    return ids[mask.bool()]


def _in_rows(values: Tensor, parts: Sequence[Sequence[Part]], width: int) -> Tensor:
    """Return values of the sequences' completions at their places in the dialogues' completions; elsewhere 0."""
    sequences = iter(values)
    rows = [torch.cat(list(_pieces(row, sequences))) for row in parts]
    return torch.stack([torch.nn.functional.pad(row, (0, width - len(row))) for row in rows])


def _pieces(row: Sequence[Part], sequences: Iterator[Tensor]) -> Iterator[Tensor]:
    for number, (before, after) in enumerate(row):
        values = next(sequences)
        if number:
            yield values.new_zeros(before)
        yield values[:after]


def _joined(found: Sequence[Forward]) -> Forward:
    logps, entropies, aux = zip(*found, strict=True)
    return (
        torch.cat(logps),
        None if entropies[0] is None else torch.cat(entropies),
        None if aux[0] is None else torch.stack(aux).mean(),
    )
