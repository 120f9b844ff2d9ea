"""Caches of keys and values: one for prompts that may be continued, and one for a batch that is being generated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import signature
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer

TOGETHER = 8192
"""Maximum number of tokens to read in one batch, including the padding of shorter rows."""
TOGETHER_CPU = 1024
"""The value of `TOGETHER` for a CPU, whose hardware caches hold the intermediate results of only a small batch."""
Layers = list[tuple[Tensor, Tensor]]
"""Keys and values of each layer; shape (1, heads, tokens, head width)."""


def cache_argument(model: Any) -> str:
    """Return the name of the argument for a model's cache; transformers 5.24 renamed it."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    return "cache" if "cache" in signature(base.forward).parameters else "past_key_values"


class Prefixes:
    """A cache of the keys and values of recent prompts, so that prompts that continue them are computed faster.

    The cache holds at most `tokens` tokens, and drops the least recently read prompts first.
    """

    def __init__(self, tokens: int) -> None:
        self._capacity = tokens
        self._cached: dict[tuple[int, ...], Layers] = {}
        self._size = 0

    def read(self, model: Any, prompts: Sequence[Sequence[int]]) -> list[Layers]:
        """Return the keys and values of each prompt.

        The model processes only the tokens after a prompt's longest cached prefix, and equal prompts only once. Prompts
        with a similar number of tokens to process share a batch.
        """
        wanted = list(map(tuple, prompts))
        lengths = sorted({*map(len, self._cached)}, reverse=True)
        known = {ids: self._beginning(ids, lengths) for ids in wanted}
        by_length = sorted(known, key=lambda ids: len(ids) - len(known[ids]))
        found = {ids: self._cached.get(known[ids], []) for ids in by_length}
        rest = [ids for ids in by_length if len(ids) > len(known[ids])]
        most = TOGETHER_CPU if model.device.type == "cpu" else TOGETHER
        for chunk in _chunks(rest, [len(ids) - len(known[ids]) for ids in rest], most):
            rows = [ids[len(known[ids]) :] for ids in chunk]
            found |= zip(chunk, _read(model, [found[ids] for ids in chunk], rows), strict=True)
        for ids in wanted:
            self._keep(ids, found[ids])
        return [found[ids] for ids in wanted]

    def _beginning(self, ids: tuple[int, ...], lengths: Sequence[int]) -> tuple[int, ...]:
        """Return the longest cached prefix of `ids`; `lengths` are the lengths of the cached prompts, longest first."""
        beginnings = (ids[:length] for length in lengths if length <= len(ids))
        return next((each for each in beginnings if each in self._cached), ())

    def _keep(self, ids: tuple[int, ...], layers: Layers) -> None:
        if self._cached.pop(ids, None) is None:
            self._size += len(ids)
        self._cached[ids] = layers
        while self._size > self._capacity:
            oldest = next(iter(self._cached))
            self._size -= len(oldest)
            del self._cached[oldest]


def _chunks(
    prompts: Sequence[tuple[int, ...]], lengths: Sequence[int], most: int
) -> Iterator[list[tuple[int, ...]]]:
    """Yield batches of at most `most` tokens; a longer prompt is a batch of its own. `lengths` must ascend."""
    chunk: list[tuple[int, ...]] = []
    for ids, length in zip(prompts, lengths, strict=True):
        if chunk and (len(chunk) + 1) * length > most:
            yield chunk
            chunk = []
        chunk.append(ids)
    if chunk:
        yield chunk


def _read(model: Any, known: Sequence[Layers], rows: Sequence[Sequence[int]]) -> list[Layers]:
    """Return the keys and values of each row: the ones in `known`, then the ones of the tokens in `rows`."""
    lengths = [layers[0][0].shape[2] if layers else 0 for layers in known]
    before, after = max(lengths), max(map(len, rows))
    ids = torch.tensor([[*row, *[0] * (after - len(row))] for row in rows])
    mask = [
        [0] * (before - length) + [1] * (length + len(row)) + [0] * (after - len(row))
        for length, row in zip(lengths, rows, strict=True)
    ]
    starts = torch.tensor(lengths)[:, None]
    cache = batched(known, room=after)
    model(
        input_ids=ids.to(model.device),
        attention_mask=torch.tensor(mask).to(model.device),
        position_ids=(starts + torch.arange(after)).to(model.device),
        **{cache_argument(model): cache},
        use_cache=True,
        logits_to_keep=1,
    )
    layers: list[Any] = cache.layers
    return [
        [
            (_part(layer.keys, row, begin, end), _part(layer.values, row, begin, end))
            for layer in layers
        ]
        for row, (begin, end) in enumerate(
            (before - length, before + len(new)) for length, new in zip(lengths, rows, strict=True)
        )
    ]


def _part(states: Tensor, row: int, begin: int, end: int) -> Tensor:
    """Copy the states of some tokens of a row, so that the memory of the whole batch can be freed."""
    return states[row : row + 1, :, begin:end].clone()


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

    def fill(self, rows: Sequence[tuple[Tensor, Tensor]], room: int) -> None:
        """Store the keys and values of `rows`, left-padded with zeros, and reserve space for `room` more tokens."""
        self.lazy_initialization(*rows[0])
        self._length = max(keys.shape[2] for keys, _ in rows)
        self._buffers = [_padded(each, self._length, room) for each in zip(*rows, strict=True)]
        self._show()

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep only the batch's rows at `indices`, in the order of `indices`.

        Only rows that change their place are copied.

        The memory of the other rows is freed together with the layer.
        """
        places = torch.arange(len(indices), device=indices.device)
        moved = places[indices != places]
        for buffer in self._buffers:
            used = buffer[:, :, : self._length]
            used[moved] = used[indices[moved]]
        self._buffers = [each[: len(indices)] for each in self._buffers]
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


def batched(rows: Sequence[Layers], *, room: int) -> Cache:
    """Return one key-value cache for a batch of rows, padded with zeros on the left; a row may be empty.

    `room` is the number of further tokens that each row can get before its keys and values are copied.
    """
    cache = Cache(layer_class_to_replicate=GrowingLayer)
    some = next(filter(None, rows), [])
    for number, (keys, values) in enumerate(some):
        nothing = keys[:, :, :0], values[:, :, :0]
        layer = GrowingLayer()  # type: ignore[no-untyped-call]
        layer.fill([row[number] if row else nothing for row in rows], room)
        cache.layers.append(layer)
    return cache


def _padded(rows: Sequence[Tensor], width: int, room: int) -> Tensor:
    """Return a buffer with the states of `rows` at the end of its first `width` tokens, after zeros.

    After these tokens, it has space for `room` more.
    """
    _, heads, _, size = rows[0].shape
    buffer = rows[0].new_empty(len(rows), heads, width + room, size)
    for place, row in zip(buffer, rows, strict=True):
        begin = width - row.shape[2]
        place[:, :begin] = 0
        place[:, begin:width] = row[0]
    return buffer
