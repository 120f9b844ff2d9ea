"""A row of many sequences gives each the values and gradients that it has alone."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import NamedTuple

import pytest

from colbench.errors import UserError

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed (colbench[train])"
)

from sweet_rl_trainer.model.attention import can_share, check_isolation, model_inputs
from sweet_rl_trainer.model.packing import lay_out
from sweet_rl_trainer.train.loss import row_logprobs

torch.set_num_threads(1)


class Sequence(NamedTuple):
    ids: list[int]
    token_weights: list[float]
    pictures: tuple[str, ...] = ()


def sequence(seed, length, begin=()):
    """Return random tokens after those of `begin`; about half have a weight."""
    chance = random.Random(seed)
    ids = [*begin, *(chance.randrange(67) for _ in range(length - len(begin)))]
    weights = [chance.choice([0.0, chance.uniform(0.1, 1)]) for _ in ids]
    return Sequence(ids, [0.0, *weights[1:]])


CONTEXT = [5, 9, 9, 30, 2, 66, 11]
SIDE_BY_SIDE = [[[sequence(n, length)]] for n, length in enumerate([9, 1, 17, 2, 6])]
SHARED = [
    [[sequence(1, 15, CONTEXT)], [sequence(2, 11, CONTEXT)]],
    [[sequence(3, 8, CONTEXT[:3]), sequence(4, 12, CONTEXT)], [Sequence(CONTEXT, [0, 0, 1] * 2 + [3])]],
    [[sequence(5, 9)], [sequence(6, 4)]],
]  # fmt: skip


def alone(model, groups):
    """Return Σ w log π of each, by loops over full logits, one sequence at a time."""
    sums = []
    for parts in (parts for group in groups for parts in group):
        total = torch.zeros(())
        for part in parts:
            logits = model(input_ids=torch.tensor([part.ids])).logits[0]
            for place in range(1, len(part.ids)):
                probabilities = torch.softmax(logits[place - 1], dim=-1)
                total = total + part.token_weights[place] * probabilities[part.ids[place]].log()
        sums.append(total)
    return torch.stack(sums)


def packed(model, groups, share):
    row = lay_out(groups, share=share)
    assert row.shares == share
    return row.sums(row.token_weights * row_logprobs(model, model.config, row))


def assert_equal(model, groups, share):
    expected, found = alone(model, groups), packed(model, groups, share)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    slopes = torch.linspace(-1, 2, len(found))
    both = [
        torch.autograd.grad((value * slopes).sum(), list(model.parameters()))
        for value in (found, expected)
    ]
    for one, other in zip(*both, strict=True):
        assert (one - other).abs().max() <= 1e-5 * other.abs().max()


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("kind", ["llama", "qwen2", "mistral", "qwen2 with windows"])
def test_packed_sequences_have_the_values_and_gradients_of_unpacked_ones(
    make_model, kind, attention
):
    assert_equal(make_model(kind, attn_implementation=attention), SIDE_BY_SIDE, share=False)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("kind", ["llama", "qwen2"])
def test_shared_prefixes_have_the_values_and_gradients_of_separate_ones(
    make_model, kind, attention
):
    model = make_model(kind, attn_implementation=attention)
    assert can_share(model.config)
    assert_equal(model, SHARED, share=True)


def by_lengths(module, query, key, value, mask, cu_seq_lens_q, max_length_q, scaling, **kwargs):
    """Compute variable-length flash attention, one sequence and one query at a time."""
    assert mask is None
    assert kwargs["cu_seq_lens_k"].tolist() == cu_seq_lens_q.tolist()
    assert max_length_q == kwargs["max_length_k"] == cu_seq_lens_q.diff().max()
    assert query.shape[0] == 1
    key, value = (
        each.repeat_interleave(query.shape[1] // each.shape[1], 1) for each in (key, value)
    )
    ends = cu_seq_lens_q.tolist()
    outputs = []
    for start, end in pairwise(ends):
        for place in range(start, end):
            seen = slice(start, place + 1)
            likeness = (query[0, :, place, None] * key[0, :, seen]).sum(-1) * scaling
            outputs.append((likeness.softmax(-1)[..., None] * value[0, :, seen]).sum(1))
    return torch.stack(outputs)[None], None


@pytest.fixture
def varlen(make_model):
    """Make models with `by_lengths` attention, named so that transformers takes it for flash attention."""
    transformers.AttentionInterface.register("flash_by_lengths", by_lengths)

    def make(kind):
        model = make_model(kind)
        model.config._attn_implementation = "flash_by_lengths"
        return model

    return make


@pytest.mark.parametrize("kind", ["llama", "qwen2"])
def test_flash_attention_gets_the_sequence_lengths(make_model, varlen, kind):
    expected = alone(make_model(kind), SIDE_BY_SIDE)
    torch.testing.assert_close(
        packed(varlen(kind), SIDE_BY_SIDE, share=False), expected, rtol=1e-5, atol=1e-5
    )


def test_the_lengths_are_those_that_transformers_derives_from_positions(varlen):
    from transformers.modeling_flash_attention_utils import prepare_fa_kwargs_from_position_ids

    inputs = model_inputs(lay_out(SIDE_BY_SIDE), varlen("llama").config)
    (ends, _), (longest, _) = prepare_fa_kwargs_from_position_ids(inputs["position_ids"])
    assert inputs["cu_seq_lens_q"].dtype == ends.dtype
    assert inputs["cu_seq_lens_q"].tolist() == ends.tolist()
    assert inputs["max_length_q"] == longest


def test_a_row_of_one_sequence_has_its_values_and_gradients(make_model):
    assert_equal(make_model(), [[[sequence(8, 12)]]], share=False)


@pytest.mark.parametrize("kind", ["llama", "qwen2", "mistral", "qwen2 with windows"])
def test_models_that_isolate_sequences_pass_the_check(make_model, kind):
    model = make_model(kind)
    check_isolation(model, model.config)
    if can_share(model.config):
        check_isolation(model, model.config, share=True)


def test_a_model_with_dropout_passes_the_check_and_stays_in_training_mode(make_model):
    model = make_model(attention_dropout=0.5)
    check_isolation(model, model.config)
    assert model.training


def test_a_model_that_lets_sequences_see_one_another_is_refused(make_model):
    def everything_before(module, query, key, value, mask, scaling, **kwargs):
        key, value = (each.repeat_interleave(2, 1) for each in (key, value))
        seen = torch.nn.functional.scaled_dot_product_attention(
            query, key, value, is_causal=True, scale=scaling
        )
        return seen.transpose(1, 2), None

    transformers.AttentionInterface.register("everything_before", everything_before)
    model = make_model()
    model.config._attn_implementation = "everything_before"
    with pytest.raises(UserError, match="llama with everything_before attention lets sequences"):
        check_isolation(model, model.config)


def test_a_model_with_damaged_weights_is_not_said_to_mix_sequences(make_model):
    model = make_model()
    with torch.no_grad():
        model.model.norm.weight.fill_(torch.nan)
    with pytest.raises(UserError, match="llama: the model's hidden states are not finite"):
        check_isolation(model, model.config)


def test_a_recurrent_model_is_refused():
    config = transformers.MambaConfig(
        vocab_size=67, hidden_size=32, num_hidden_layers=2, initializer_range=0.3
    )
    model = transformers.MambaForCausalLM(config)
    with pytest.raises(UserError, match="mamba with .* attention lets sequences"):
        check_isolation(model, config)


@pytest.mark.parametrize("kind", ["mistral", "qwen2 with windows"])
def test_models_with_sliding_windows_cannot_share_prefixes(make_model, kind):
    assert not can_share(make_model(kind).config)


def test_attention_without_a_mask_cannot_share_prefixes(varlen):
    assert not can_share(varlen("llama").config)


@pytest.mark.parametrize("kind", ["mistral", "qwen2 with windows"])
def test_a_shared_row_is_refused_for_models_with_sliding_windows(make_model, kind):
    with pytest.raises(ValueError, match="does not support shared prefixes"):
        model_inputs(lay_out(SHARED, share=True), make_model(kind).config)
