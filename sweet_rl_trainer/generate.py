"""Replies from a model of transformers in this process, many at a time, each with a seed of its own.

A reply is drawn by the Gumbel-max trick: noise of the reply's own generator is added to the logits over the
temperature, and the largest sum is taken, which is a draw from their softmax. So a reply depends on its prompt and its
seed, and on what else is in the batch by rounding alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
    """
    count = len(seeds) // len(prompts)
    width = max(map(len, prompts))
    ids = torch.tensor([[ends[0]] * (width - len(each)) + [*each] for each in prompts])
    mask = torch.tensor([[0] * (width - len(each)) + [1] * len(each) for each in prompts])
    ids, mask = ids.to(model.device), mask.to(model.device)
    with plain(model), torch.inference_mode():
        read = _read(model, ids, mask, count) if count > 1 and width > 1 else None
        found = model.generate(
            input_ids=ids.repeat_interleave(count, 0),
            attention_mask=mask.repeat_interleave(count, 0),
            past_key_values=read,
            do_sample=False,
            logits_processor=[_Noise(seeds, temperature, model.device)] if temperature else [],
            max_new_tokens=max_tokens,
            eos_token_id=list(ends),
            pad_token_id=ends[0],
        )
    return [_until(reply, ends) for reply in found[:, width:].tolist()]


def _read(model: Any, ids: Tensor, mask: Tensor, count: int) -> Any:
    """The cache of all but the last tokens of the prompts, each `count` times."""
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    read = model(
        input_ids=ids[:, :-1],
        attention_mask=mask[:, :-1],
        position_ids=positions[:, :-1],
        use_cache=True,
        logits_to_keep=1,
    ).past_key_values
    read.batch_repeat_interleave(count)
    return read


class _Noise:
    """Makes the largest of the logits a draw: adds Gumbel noise, each row's from its own generator."""

    def __init__(self, seeds: Sequence[int], temperature: float, device: torch.device) -> None:
        self._generators = [torch.Generator(device).manual_seed(seed) for seed in seeds]
        self._temperature = temperature

    def __call__(self, _: Tensor, logits: Tensor) -> Tensor:
        """Raises RuntimeError where the model computes what is no number."""
        if logits.isnan().any():
            raise RuntimeError("the model's logits are no numbers; its weights may be damaged")
        noise = torch.empty_like(logits, dtype=torch.float32)
        for row, generator in zip(noise, self._generators, strict=True):
            row.exponential_(generator=generator)
        return logits.float() / self._temperature - noise.log()


def _until(ids: list[int], ends: Sequence[int]) -> list[int]:
    """The ids up to the first that ends a reply."""
    end = next((place for place, token in enumerate(ids) if token in ends), len(ids))
    return ids[: end + 1]


@contextmanager
def plain(model: Any) -> Iterator[None]:
    """While this is open, nothing that a checkpoint says of sampling (top-k, a penalty …) makes it something else."""
    from transformers import GenerationConfig

    settings: Any = GenerationConfig
    own, model.generation_config = model.generation_config, settings()
    try:
        yield
    finally:
        model.generation_config = own


def context_of(model: Any) -> float:
    """Tokens that the model was made for; without a number, as many as there are."""
    return float(getattr(model.config.get_text_config(), "max_position_embeddings", inf))


def ends_of(model: Any, chat: Chat) -> list[int]:
    """The tokens that end a reply: the template's, and those that the checkpoint names."""
    named = model.generation_config.eos_token_id
    more = named if isinstance(named, list) else [named]
    return list(dict.fromkeys([chat.end, *(each for each in more if each is not None)]))
