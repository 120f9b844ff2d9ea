"""Cached prompts and growing batches, compared with what the model computes from the whole prompt."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from sweet_rl_trainer.model.kv_cache import TOGETHER_CPU, GrowingLayer, Prefixes, batched

IDS = [1, 5, 9, 30, 4, 7, 8]


@pytest.fixture
def model(make_model):
    return make_model("llama").eval()


class CountingModel:
    """A model that counts the tokens that it reads."""

    def __init__(self, model):
        self.model, self.device, self.tokens = model, model.device, 0
        self.calls = self.largest = 0
        self.forward = model.forward

    def __call__(self, input_ids, **rest):
        self.tokens += input_ids.numel()
        self.calls, self.largest = self.calls + 1, max(self.largest, input_ids.numel())
        return self.model(input_ids=input_ids, **rest)


def plain(model, ids):
    cache = model(torch.tensor([ids]), use_cache=True).past_key_values
    return [(layer.keys, layer.values) for layer in cache.layers]


@torch.no_grad()
def test_only_the_rest_of_a_continued_prompt_is_read(model):
    counted, prefixes = CountingModel(model), Prefixes(100)
    prefixes.read(counted, [IDS[:4]])
    assert counted.tokens == 4
    (found,) = prefixes.read(counted, [IDS])
    assert counted.tokens == len(IDS)
    for one, other in zip(found, plain(model, IDS), strict=True):
        torch.testing.assert_close(one, other)
    prefixes.read(counted, [IDS, IDS])
    assert counted.tokens == len(IDS)


@pytest.mark.parametrize("kind", ["llama", "qwen2", "gemma2"])
@torch.no_grad()
def test_prompts_of_several_lengths_are_read_together_and_keep_their_own_states(make_model, kind):
    model, prefixes = make_model(kind).eval(), Prefixes(100)
    prefixes.read(model, [IDS[:4], IDS[:2]])
    prompts = [IDS, [12, 60, 3], [1, 5, 8], [1], [1, 5, 9, 30, 11, 11, 11, 11, 12], []]
    counted = CountingModel(model)
    read = prefixes.read(counted, prompts)
    assert counted.calls == 1
    for found, ids in zip(read, prompts, strict=True):
        expected = plain(model, ids) if ids else []
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_a_batch_of_prompts_is_bounded_in_tokens(model):
    counted, prefixes = CountingModel(model), Prefixes(10**6)
    prompts = [[1, first] * (TOGETHER_CPU // 6) for first in range(3, 10)]
    prefixes.read(counted, [*prompts, [1, 2]])
    assert counted.calls == 3  # the short one and two, three, and two
    assert counted.largest <= TOGETHER_CPU


@torch.no_grad()
def test_the_least_recently_used_prompts_are_forgotten(model):
    counted, prefixes = CountingModel(model), Prefixes(8)
    for first in (10, 11, 10, 12):  # 10 is read again, so 11 is the oldest when 12 comes
        prefixes.read(counted, [[first, 5, 9, 4]])
    assert counted.tokens == 12
    prefixes.read(counted, [[10, 5, 9, 4, 6]])
    assert counted.tokens == 13
    prefixes.read(counted, [[11, 5, 9, 4]])
    assert counted.tokens == 17


@torch.no_grad()
def test_rows_of_several_lengths_are_padded_on_the_left(model):
    one, other = plain(model, IDS), plain(model, IDS[:3])
    batch = batched([one, [], other], room=2)
    for layer, long, short in zip(batch.layers, one, other, strict=True):
        for kind, states in enumerate((layer.keys, layer.values)):
            assert states.shape[:3:2] == (3, len(IDS))
            assert torch.equal(states[0], long[kind][0])
            assert torch.equal(states[2, :, -3:], short[kind][0])
            assert not states[1].any()
            assert not states[2, :, :-3].any()


def test_a_growing_layer_holds_everything_that_was_added():
    layer, added = GrowingLayer(), [torch.randn(3, 2, size, 4) for size in (5, 1, 1, 90, 1)]
    for each in added:
        keys, values = layer.update(each, -each)
    whole = torch.cat(added, 2)
    assert torch.equal(keys, whole)
    assert torch.equal(values, -whole)
    layer.batch_select_indices(torch.tensor([0, 2]))
    keys, values = layer.update(added[1][:2], added[1][:2])
    assert torch.equal(keys, torch.cat([whole[[0, 2]], added[1][:2]], 2))
    assert layer.get_seq_length() == 99


def test_selecting_rows_of_a_growing_layer_keeps_every_other_row_in_its_place():
    states = torch.randn(5, 2, 7, 4)
    layer = GrowingLayer()
    layer.fill([(states[row : row + 1], -states[row : row + 1]) for row in range(5)], room=1)
    kept = torch.tensor([0, 4, 2])
    layer.batch_select_indices(kept)
    for _ in range(3):  # more tokens than there is room for
        new = torch.randn(3, 2, 1, 4)
        states = torch.cat([states[kept] if len(states) == 5 else states, new], 2)
        keys, values = layer.update(new, -new)
    assert torch.equal(keys, states)
    assert torch.equal(values, -states)
