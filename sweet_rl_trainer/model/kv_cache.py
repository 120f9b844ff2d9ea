"""Caches of keys and values: of prompts that may be continued, and of a batch that is being generated."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer

Layers = list[tuple[Tensor, Tensor]]
"""Keys and values of each layer; shape (1, heads, tokens, head width)."""


def cache_argument(model: Any) -> str:
    """Return the name of the argument for a model's cache; transformers 5.24 renamed it."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    return "cache" if "cache" in signature(base.forward).parameters else "past_key_values"


class Prefixes:
    """Keys and values of the most recent prompts, up to `tokens` tokens in all, for prompts that continue them."""

    def __init__(self, tokens: int) -> None:
        self._capacity = tokens
        self._cached: dict[tuple[int, ...], Layers] = {}

    def read(self, model: Any, ids: Sequence[int]) -> Layers:
        """Return the keys and values of `ids`; the model reads only the tokens after the longest cached prefix."""
        known = max((each for each in self._cached if _begins(ids, each)), key=len, default=())
        cache = DynamicCache()
        for number, (keys, values) in enumerate(self._cached.get(known, [])):
            cache.update(keys, values, number)
        rest = list(ids[len(known) :])
        if rest:
            new = torch.tensor([rest], device=model.device)
            model(input_ids=new, **{cache_argument(model): cache}, use_cache=True, logits_to_keep=1)
        layers: list[Any] = cache.layers
        found = [(layer.keys, layer.values) for layer in layers]
        self._keep(tuple(ids), found)
        return found

    def _keep(self, ids: tuple[int, ...], layers: Layers) -> None:
        self._cached.pop(ids, None)
        self._cached[ids] = layers
        while sum(map(len, self._cached)) > self._capacity:
            del self._cached[next(iter(self._cached))]


def _begins(ids: Sequence[int], other: tuple[int, ...]) -> bool:
    return tuple(ids[: len(other)]) == other


class GrowingLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """A cache layer with spare capacity, so that most additions copy nothing."""

    def update(
        self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any
    ) -> tuple[Tensor, Tensor]:
        """Add tokens and return all keys and values."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
            self._length = 0
            self._buffers = [each[:, :, :0] for each in (key_states, value_states)]
        begin, end = self._length, self._length + key_states.shape[-2]
        if end > self._buffers[0].shape[-2]:
            self._buffers = [_enlarged(each, begin, end + end // 4 + 32) for each in self._buffers]
        for buffer, new in zip(self._buffers, (key_states, value_states), strict=True):
            buffer[:, :, begin:end] = new
        self._length = end
        return self._show()

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep only some rows of the batch."""
        self._buffers = [each[indices] for each in self._buffers]
        self._show()

    def _show(self) -> tuple[Tensor, Tensor]:
        keys, values = (each[:, :, : self._length] for each in self._buffers)
        self.keys, self.values = keys, values
        return keys, values


def _enlarged(buffer: Tensor, used: int, size: int) -> Tensor:
    rows, heads, _, width = buffer.shape
    larger = buffer.new_empty(rows, heads, size, width)
    larger[:, :, :used] = buffer[:, :, :used]
    return larger


def batched(rows: Sequence[Layers]) -> Cache:
    """Return the cache of a batch of rows, padded with zeros on the left; a row may be empty."""
    cache = Cache(layer_class_to_replicate=GrowingLayer)
    some = next(filter(None, rows), [])
    for number, layer in enumerate(some):
        nothing = tuple(each[:, :, :0] for each in layer)
        known = [row[number] if row else nothing for row in rows]
        keys, values = map(_stacked, zip(*known, strict=True))
        cache.update(keys, values, number)
    return cache


def _stacked(rows: Sequence[Tensor]) -> Tensor:
    width = max(each.shape[2] for each in rows)
    return torch.cat([pad(each, (0, 0, width - each.shape[2], 0)) for each in rows])
