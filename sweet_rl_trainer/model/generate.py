"""Replies sampled in batches from a transformers model in this process; each reply has its own seed.

Tokens are drawn by the Gumbel-max trick: the logits are divided by the temperature, noise from the reply's own random
generator is added, and the token with the largest sum is taken. This token is a sample from the softmax. So a reply
depends only on its prompt and seed; the rest of the batch affects only rounding. Sampling settings of the checkpoint
(top-k, a penalty …) are ignored. Finished replies leave the batch, because most replies are short and a few are long.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.model.kv_cache import Prefixes, batched, cache_argument

ROOM = 64
"""Number of new tokens for which a batch's cache has room at first."""


def generate(
    model: Any,
    prompts: Sequence[Sequence[int]],
    seeds: Sequence[int],
    *,
    ends: Sequence[int],
    temperature: float,
    max_tokens: int,
    prefixes: Prefixes | None = None,
) -> list[list[int]]:
    """Return sampled replies as tokens; temperature 0 is greedy.

    A reply includes the token of `ends` that ended it; a reply of `max_tokens` tokens may lack such a token. Each seed
    gives one reply. Every prompt gets the same number of replies, and the replies are in the order of the prompts. A
    prompt is computed only once for all its replies. If a prompt continues a prompt cached in `prefixes`, only the rest
    is computed. Raises RuntimeError if the logits contain NaN.
    """
    replies: list[list[int]] = [[] for _ in seeds]
    generators = [torch.Generator(model.device).manual_seed(seed) for seed in seeds]
    with torch.inference_mode():
        batch = _Batch(model, prompts, len(seeds) // len(prompts), prefixes or Prefixes(0))
        for _ in range(max_tokens):
            drawn = [generators[row] for row in batch.rows]
            tokens = _draw(batch.logits(), drawn, temperature)
            for row, token in zip(batch.rows, tokens.tolist(), strict=True):
                if not _ended(replies[row], ends):
                    replies[row].append(token)
            going = [not _ended(replies[row], ends) for row in batch.rows]
            if not any(going):
                break
            batch.add(tokens, going)
    return replies


def _ended(reply: Sequence[int], ends: Sequence[int]) -> bool:
    return bool(reply) and reply[-1] in ends


class _Batch:
    """A batch of unfinished replies.

    Each row has its last token, its cached keys and values, and a mask of its left padding.
    """

    def __init__(
        self, model: Any, prompts: Sequence[Sequence[int]], count: int, prefixes: Prefixes
    ) -> None:
        self._model = model
        known = prefixes.read(model, [prompt[:-1] for prompt in prompts])
        self._cache = batched([each for each in known for _ in range(count)], room=ROOM)
        self._cache_argument = cache_argument(model)
        width = max(map(len, prompts))
        mask = torch.tensor([[0] * (width - len(each)) + [1] * len(each) for each in prompts])
        self._mask = mask.to(model.device).repeat_interleave(count, 0)
        last = torch.tensor([[prompt[-1]] for prompt in prompts])
        self._last = last.to(model.device).repeat_interleave(count, 0)
        self.rows = list(range(len(prompts) * count))
        """The index of each row's reply."""

    def logits(self) -> Tensor:
        """Return the logits after the last tokens: (rows, vocabulary)."""
        logits: Tensor = self._model(
            input_ids=self._last,
            attention_mask=self._mask,
            position_ids=self._mask.sum(-1, keepdim=True) - 1,
            **{self._cache_argument: self._cache},
            use_cache=True,
            logits_to_keep=1,
        ).logits[:, -1]
        return logits

    def add(self, tokens: Tensor, going: Sequence[bool]) -> None:
        """Append a token to each row, and remove finished rows; `going` is True for each unfinished row."""
        if not all(going):
            places = _without_gaps(going)
            kept = torch.tensor(places, device=tokens.device)
            tokens, self._mask = tokens[kept], self._mask[kept]
            self._cache.batch_select_indices(kept)
            self.rows = [self.rows[place] for place in places]
        self._last = tokens[:, None]
        self._mask = pad(self._mask, (0, 1), value=1)


def _without_gaps(going: Sequence[bool]) -> list[int]:
    """Return, for each place of the smaller batch, the row to put there.

    Unfinished rows at these places stay. Later unfinished rows take the places of finished rows.
    """
    places = list(range(sum(going)))
    movers = [row for row in range(len(places), len(going)) if going[row]]
    gaps = [place for place in places if not going[place]]
    for gap, mover in zip(gaps, movers, strict=True):
        places[gap] = mover
    return places


def _draw(logits: Tensor, generators: Sequence[torch.Generator], temperature: float) -> Tensor:
    """Sample a token for each row."""
    logits = logits.float()
    if logits.isnan().any():
        raise RuntimeError("the model's logits are NaN; its weights may be damaged")
    if temperature:
        noise = torch.empty_like(logits)
        for row, generator in zip(noise, generators, strict=True):
            row.exponential_(generator=generator)
        logits = logits / temperature - noise.log()
    return logits.argmax(-1)


def context_of(model: Any) -> float:
    """Return the model's context length in tokens; infinity if the model's configuration does not state it."""
    return float(getattr(model.config.get_text_config(), "max_position_embeddings", inf))


def ends_of(model: Any, chat: Chat) -> list[int]:
    """Return the tokens that end a reply, from the template and the checkpoint's generation settings."""
    named = model.generation_config.eos_token_id
    more = named if isinstance(named, list) else [named]
    return list(dict.fromkeys([chat.end, *(each for each in more if each is not None)]))
