"""Keys and values that a model has computed: of prompts that may go on, and of a batch that grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer

Layers = list[tuple[Tensor, Tensor]]
"""Keys and values of each layer, (1, heads, tokens, width of a head)."""


class Prefixes:
    """What a model has read of prompts, for those that go on from them: the latest ones, of so many tokens in all."""

    def __init__(self, tokens: int) -> None:
        self._room = tokens
        self._held: dict[tuple[int, ...], Layers] = {}

    def read(self, model: Any, ids: Sequence[int]) -> Layers:
        """Those of `ids`; only what follows the longest prompt that is held is read."""
        known = max((each for each in self._held if _begins(ids, each)), key=len, default=())
        cache = DynamicCache()
        for number, (keys, values) in enumerate(self._held.get(known, [])):
            cache.update(keys, values, number)
        rest = list(ids[len(known) :])
        if rest:
            new = torch.tensor([rest], device=model.device)
            model(input_ids=new, past_key_values=cache, use_cache=True, logits_to_keep=1)
        layers: list[Any] = cache.layers
        found = [(layer.keys, layer.values) for layer in layers]
        self._keep(tuple(ids), found)
        return found

    def _keep(self, ids: tuple[int, ...], layers: Layers) -> None:
        self._held.pop(ids, None)
        self._held[ids] = layers
        while sum(map(len, self._held)) > self._room:
            del self._held[next(iter(self._held))]


def _begins(ids: Sequence[int], other: tuple[int, ...]) -> bool:
    return tuple(ids[: len(other)]) == other


class GrowingLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """A layer with room to spare: what is added is written beside the rest, which is copied once in a while only."""

    def update(
        self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any
    ) -> tuple[Tensor, Tensor]:
        """Add tokens; gives all keys and values."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
            self._length = 0
            self._buffers = [each[:, :, :0] for each in (key_states, value_states)]
        begin, end = self._length, self._length + key_states.shape[-2]
        if end > self._buffers[0].shape[-2]:
            self._buffers = [_roomier(each, begin, end + end // 4 + 32) for each in self._buffers]
        for buffer, new in zip(self._buffers, (key_states, value_states), strict=True):
            buffer[:, :, begin:end] = new
        self._length = end
        return self._show()

    def batch_select_indices(self, indices: Tensor) -> None:
        """Only keep some rows of the batch."""
        self._buffers = [each[indices] for each in self._buffers]
        self._show()

    def _show(self) -> tuple[Tensor, Tensor]:
        keys, values = (each[:, :, : self._length] for each in self._buffers)
        self.keys, self.values = keys, values
        return keys, values


def _roomier(buffer: Tensor, used: int, size: int) -> Tensor:
    rows, heads, _, width = buffer.shape
    larger = buffer.new_empty(rows, heads, size, width)
    larger[:, :, :used] = buffer[:, :, :used]
    return larger


def side_by_side(rows: Sequence[Layers]) -> Cache:
    """A batch of what was read for each row, which may be nothing, filled up with zeros on the left."""
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
