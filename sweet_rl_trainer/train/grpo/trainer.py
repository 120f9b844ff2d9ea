"""TRL's trainer for rows with several sequences that are isolated from each other.

For TRL, a dialogue is one row: a prompt, a completion, and one advantage for everything that the agent wrote. (In
`turn_trainer`, each turn has its own advantage.) The loss, the masks and the means over a dialogue's tokens are TRL's
own. Only the forward pass differs: it has a row for each sequence of a dialogue (`sequences.DialogueRow`), and the
log-probabilities of these rows are put back in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Sampler
from trl import GRPOTrainer

from sweet_rl_trainer.train.grpo.sequences import Part

Forward = tuple[Tensor | None, Tensor | None, Tensor | None]
"""Log-probabilities, entropies, and the load-balancing loss of a mixture of experts."""


class DialogueTrainer(GRPOTrainer):  # type: ignore[misc]  # TRL has no types
    """TRL's GRPO trainer, where each row of a batch is a dialogue.

    The `rollout_func` must call `hold` with the lengths of the sequences in each dialogue that it returns.
    """

    _parts: Tensor

    def hold(self, parts: Sequence[Sequence[Part]]) -> None:
        """Store the sequence lengths of each row of the current batch."""
        each = [torch.tensor(row, dtype=torch.long) for row in parts]
        self._parts = pad_sequence(each, batch_first=True)

    def _get_train_sampler(self, dataset: Any = None) -> Order:
        return Order(partial(super()._get_train_sampler, dataset), self._passes)

    def _passes(self) -> int:
        """Return the number of completed passes over the tasks."""
        groups = self.args.generation_batch_size // self.num_generations
        steps = len(self.train_dataset) // groups * self.num_iterations
        return int(self.state.global_step // steps)

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
        found: list[Forward] = []
        for first in range(0, len(parts), batch_size or len(parts)):
            rows = slice(first, first + (batch_size or len(parts)))
            ids = list(map(_unpadded, input_ids[rows], attention_mask[rows]))
            batch = self._batch(ids, parts[rows])
            logps, entropies, aux = forward(model, *batch, **options)
            back = [_in_rows(each, parts[rows], logits_to_keep) for each in (logps, entropies)]
            found.append((back[0], back[1], aux))
        return _joined(found)

    def _batch(
        self, rows: Sequence[Tensor], parts: Sequence[Sequence[Part]]
    ) -> tuple[Tensor, Tensor, int]:
        """Return a batch with a row for each sequence: IDs, mask, and the width of completions (`logits_to_keep`)."""
        sizes = [size for row in parts for part in row for size in part]
        pieces: tuple[Tensor, ...] = torch.split(torch.cat(list(rows)), sizes)
        ids = _padded(pieces, self._tokenizer.pad_token_id)
        mask = _padded([torch.ones_like(piece) for piece in pieces], 0)
        return ids, mask, max(map(len, pieces[1::2]))


class Order(Sampler[int]):
    """A sampler that yields the tasks in the order of an uninterrupted run with TRL's sampler, even after a resume.

    TRL draws the order of every pass over the tasks from one random generator, whose state it does not save. After a
    resume, this sampler therefore draws the orders of the completed passes again.
    """

    def __init__(self, new: Callable[[], Any], passes: Callable[[], int]) -> None:
        """Create the sampler. `new` returns a new TRL sampler, and `passes` returns the number of completed passes."""
        self._new, self._passes = new, passes

    def __iter__(self) -> Iterator[int]:
        sampler = self._new()
        for _ in range(self._passes()):
            next(iter(sampler))  # draw the order of a completed pass
        yield from sampler

    def __len__(self) -> int:
        return len(self._new())


def _padded(pieces: Sequence[Tensor], value: int) -> Tensor:
    """Build a batch from alternating prompts and completions; pad prompts on the left, completions on the right."""
    prompts = pad_sequence(list(pieces[::2]), True, value, "left")
    completions = pad_sequence(list(pieces[1::2]), True, value, "right")
    return torch.cat([prompts, completions], dim=1)


def _unpadded(ids: Tensor, mask: Tensor) -> Tensor:
    return ids[mask.bool()]


def _in_rows(values: Tensor | None, parts: Sequence[Sequence[Part]], width: int) -> Tensor | None:
    """Return one row of values per dialogue, [dialogues, `width`], with 0 for tokens outside completions."""
    if values is None:
        return None
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
        None if logps[0] is None else torch.cat(logps),
        None if entropies[0] is None else torch.cat(entropies),
        None if aux[0] is None else torch.stack(aux).mean(),
    )
