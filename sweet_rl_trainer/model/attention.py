"""Model inputs that isolate the sequences of a packed row, for each attention implementation of transformers.

| content of the row | attention | what isolates the sequences |
|---|---|---|
| sequences side by side | sdpa, eager, flex | positions that restart, from which transformers makes each layer's mask |
| sequences side by side | flash | positions that restart, and the bounds of the sequences (`cu_seq_lens_q` …) |
| sequences with pictures | any | a padded batch instead of a row (`vision.padded`) |
| shared prefixes | sdpa, eager | our own mask (`tree_mask`); every layer must see all earlier tokens (`can_share`) |

`check_isolation` verifies that the sequences of a row do not affect each other.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import torch
from msgspec import Struct
from torch import Tensor, nn

from colbench.errors import UserError
from sweet_rl_trainer.model.packing import Row, lay_out
from sweet_rl_trainer.model.vision import padded


def model_inputs(row: Row, config: Any) -> dict[str, Any]:
    """Return the model inputs for a row: a batch of one row or, if the row has pictures, a padded batch.

    Raises ValueError if the row has shared prefixes and the model's attention does not support them.
    """
    from transformers.utils.generic import is_flash_attention_requested

    if row.pictures:
        return padded(row, config)

    inputs: dict[str, Any] = {"input_ids": row.ids[None], "position_ids": row.positions[None]}
    if row.shares and not can_share(config):
        raise ValueError(
            f"{config.model_type} with {implementation(config)} attention does not support shared prefixes"
        )
    if row.shares:
        seen = tree_mask(row)
        inputs["attention_mask"] = seen if implementation(config) == "sdpa" else _additive(seen)
    elif is_flash_attention_requested(config):
        ends = torch.tensor([0, *accumulate(row.lengths)], dtype=torch.int32)
        ends = ends.to(row.ids.device, non_blocking=True)
        longest = max(row.lengths)
        inputs |= {"cu_seq_lens_q": ends, "cu_seq_lens_k": ends}
        inputs |= {"max_length_q": longest, "max_length_k": longest}
    return inputs


def tree_mask(row: Row) -> Tensor:
    """Return the Boolean attention mask [1, 1, T, T], where [0, 0, i, j] is True if token i attends to token j.

    Token j is visible from its own index in the row to the end of the last sequence that contains it.
    """
    places = torch.arange(len(row.ids), device=row.ids.device)
    seer = places[:, None]
    return ((places <= seer) & (seer < row.ends))[None, None]


def _additive(seen: Tensor) -> Tensor:
    hidden = torch.finfo(torch.float32).min
    return torch.zeros(seen.shape, device=seen.device).masked_fill(~seen, hidden)


def can_share(config: Any) -> bool:
    """Return True if a common prefix of several sequences can be computed once.

    The attention must accept a mask, and every layer must see all earlier tokens.
    """
    text = config.get_text_config()
    kinds = getattr(text, "layer_types", None)
    if kinds is None:
        narrow = any(
            getattr(text, name, None) for name in ("sliding_window", "attention_chunk_size")
        )
    else:
        narrow = set(kinds) != {"full_attention"}
    return implementation(config) in ("sdpa", "eager") and not narrow


def implementation(config: Any) -> str:
    """Return transformers' name of the attention implementation of a model with this configuration."""
    return str(config.get_text_config()._attn_implementation)


class _Probe(Struct, frozen=True):
    ids: list[int]
    token_weights: list[float]
    pictures: tuple[str, ...] = ()


def check_isolation(model: nn.Module, config: Any, *, share: bool = False) -> None:
    """Raise UserError if a sequence can change what the model computes for the next sequence in the same row.

    Raises UserError also if the model's hidden states are not finite. The check runs two short rows that differ only in
    their first sequence (after a common prefix if `share` is true), and compares the hidden states of the second
    sequence.
    """
    size = config.get_text_config().vocab_size
    device = next(model.parameters()).device
    training, hidden = model.training, []
    model.eval()  # without dropout
    for start in (8, 16):
        texts = (*range(8), *range(start, start + 8)), (*range(8), *range(24, 32))
        group = [[_Probe([token % size for token in text], [0.0] * 16)] for text in texts]
        row = lay_out([group], share=share).to(device)
        with torch.no_grad():
            result = model(**model_inputs(row, config), use_cache=False, output_hidden_states=True)
        hidden.append(result.hidden_states[-1][0, -8:])
    model.train(training)
    first, second = hidden
    if not (first.isfinite().all() and second.isfinite().all()):
        raise UserError(
            f"{config.model_type}: the model's hidden states are not finite; its weights may be damaged"
        )
    rounding = 16 * torch.finfo(first.dtype).eps * first.abs().max()
    if not (first - second).abs().max() <= rounding:
        raise UserError(
            f"{config.model_type} with {implementation(config)} attention lets sequences packed "
            "into one row attend to each other; use another model, or another attention "
            "implementation"
        )
