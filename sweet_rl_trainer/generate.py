"""Replies from a model of transformers in this process, many at a time, each with a seed of its own.

A reply is drawn by the Gumbel-max trick: noise of the reply's own generator is added to the logits over the
temperature, and the largest sum is taken, which is a draw from their softmax. So a reply depends on its prompt and its
seed, and on what else is in the batch by rounding alone; nothing that a checkpoint says of sampling (top-k, a
penalty …) makes the distribution another one. A reply that has ended leaves the batch: most are short, few are long.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import torch
from torch import Tensor

from sweet_rl_trainer.chat import Chat


def generate(
    model: Any,
    prompts: Sequence[Sequence[int]],
    seeds: Sequence[int],
    *,
    ends: Sequence[int],
    temperature: float,
    max_tokens: int,
) -> list[list[int]]:
    """Replies in tokens, with the one of `ends` that ends each; at temperature 0 the likeliest.

    There are as many for each prompt as there are seeds for each, in turn; the prompts are read once.
    Raises RuntimeError where the model computes what is no number.
    """
    replies: list[list[int]] = [[] for _ in seeds]
    growing = replies
    generators = [torch.Generator(model.device).manual_seed(seed) for seed in seeds]
    with torch.inference_mode():
        batch = _Batch(model, prompts, len(seeds) // len(prompts))
        for _ in range(max_tokens):
            tokens = _draw(batch.logits(), generators, temperature)
            for reply, token in zip(growing, tokens.tolist(), strict=True):
                reply.append(token)
            going = [row for row, reply in enumerate(growing) if reply[-1] not in ends]
            if not going:
                break
            if len(going) < len(growing):
                growing = [growing[row] for row in going]
                generators = [generators[row] for row in going]
            batch.add(tokens, going)
    return replies


class _Batch:
    """What the model has read of each row: its cache, and the mask of the padding, which is on the left."""

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]], count: int) -> None:
        width = max(map(len, prompts))
        ids = torch.tensor([[0] * (width - len(each)) + [*each] for each in prompts])
        mask = torch.tensor([[0] * (width - len(each)) + [1] * len(each) for each in prompts])
        self._model = model
        self._cache: Any = None
        self._mask = mask.to(model.device)
        if width > 1:
            self._read(ids[:, :-1].to(model.device), self._mask[:, :-1])
        if self._cache is not None and count > 1:
            self._cache.batch_repeat_interleave(count)
        self._mask = self._mask.repeat_interleave(count, 0)
        self._last = ids[:, -1:].to(model.device).repeat_interleave(count, 0)

    def logits(self) -> Tensor:
        """After the last tokens. (rows, vocabulary)."""
        return self._read(self._last, self._mask)

    def add(self, tokens: Tensor, rows: Sequence[int]) -> None:
        """Go on with a token for each row, with some of the rows."""
        if len(rows) < len(tokens):
            kept = torch.tensor(rows, device=tokens.device)
            tokens, self._mask = tokens[kept], self._mask[kept]
            self._cache.batch_select_indices(kept)
        self._last = tokens[:, None]
        self._mask = torch.nn.functional.pad(self._mask, (0, 1), value=1)

    def _read(self, ids: Tensor, mask: Tensor) -> Tensor:
        positions = (mask.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        said = self._model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        self._cache = said.past_key_values
        logits: Tensor = said.logits[:, -1]
        return logits


def _draw(logits: Tensor, generators: Sequence[torch.Generator], temperature: float) -> Tensor:
    """A token for each row."""
    logits = logits.float()
    if logits.isnan().any():
        raise RuntimeError("the model's logits are no numbers; its weights may be damaged")
    if temperature:
        noise = torch.empty_like(logits)
        for row, generator in zip(noise, generators, strict=True):
            row.exponential_(generator=generator)
        logits = logits / temperature - noise.log()
    return logits.argmax(-1)


def context_of(model: Any) -> float:
    """Tokens that the model was made for; without a number, as many as there are."""
    return float(getattr(model.config.get_text_config(), "max_position_embeddings", inf))


def ends_of(model: Any, chat: Chat) -> list[int]:
    """The tokens that end a reply: the template's, and those that the checkpoint names."""
    named = model.generation_config.eos_token_id
    more = named if isinstance(named, list) else [named]
    return list(dict.fromkeys([chat.end, *(each for each in more if each is not None)]))
