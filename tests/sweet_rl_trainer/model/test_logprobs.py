from __future__ import annotations

import pytest

from colbench.errors import UserError

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from sweet_rl_trainer.model.logprobs import (
    check_head,
    output_layer,
    select_logprobs,
    token_logprobs,
)

torch.set_num_threads(1)

RENAMED = pytest.mark.filterwarnings("ignore:`.*gradient_checkpointing.*` is dep:FutureWarning")
"""A renaming in transformers; peft and this project still use the old name, which transformers 5.0 needs."""


def problem(dtype=torch.float32, count=23, size=37, vocabulary=101):
    generator = torch.Generator().manual_seed(3)
    hidden = torch.randn(count, size, generator=generator).to(dtype).requires_grad_()
    weight = torch.randn(vocabulary, size, generator=generator).to(dtype).requires_grad_()
    targets = torch.randint(vocabulary, (count,), generator=generator)
    slopes = torch.randn(count, generator=generator)
    return hidden, weight, targets, slopes


def naive(hidden, weight, targets):
    logits = hidden @ weight.T
    return torch.stack([logits[i].float().log_softmax(-1)[t] for i, t in enumerate(targets)])


def close(one, other, tolerance=1e-5):
    """Assert equality up to the tolerance, relative to the largest value."""
    assert (one - other).abs().max() <= tolerance * other.abs().max()


@pytest.mark.parametrize("chunk", [1, 4, 23, 64, None])
def test_values_and_gradients_are_those_of_the_full_log_softmax(chunk):
    hidden, weight, targets, slopes = problem()
    expected = naive(hidden, weight, targets)
    gradients = torch.autograd.grad((expected * slopes).sum(), [hidden, weight])
    found = select_logprobs(hidden, weight, targets, chunk)
    close(found, expected)
    for one, other in zip(
        torch.autograd.grad((found * slopes).sum(), [hidden, weight]), gradients, strict=True
    ):
        close(one, other)


def test_the_gradient_matches_finite_differences():
    hidden, weight, targets, _ = problem(torch.float64, 5, 4, 7)
    assert torch.autograd.gradcheck(
        lambda h, w: select_logprobs(h, w, targets, 2), (hidden, weight), atol=1e-3, eps=1e-2
    )


def test_a_frozen_weight_leaves_the_hidden_state_gradient_correct():
    hidden, weight, targets, slopes = problem()
    frozen = weight.detach()
    (found,) = torch.autograd.grad(
        (select_logprobs(hidden, frozen, targets, 4) * slopes).sum(), hidden
    )
    close(found, torch.autograd.grad((naive(hidden, frozen, targets) * slopes).sum(), hidden)[0])


def test_no_tensor_as_large_as_the_logits_is_kept_for_the_backward_pass():
    hidden, weight, targets, _ = problem(count=64)
    kept = []

    def pack(tensor):
        kept.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        select_logprobs(hidden, weight, targets, 8)
    assert max(kept) == max(hidden.numel(), weight.numel()) < 64 * len(weight)


def test_bfloat16_weights_give_log_probabilities_in_float32():
    hidden, weight, targets, slopes = problem(torch.bfloat16)
    found = select_logprobs(hidden, weight, targets, 4)
    assert found.dtype == torch.float32
    close(found, naive(hidden, weight, targets))
    both = [
        torch.autograd.grad((value * slopes).sum(), [hidden, weight])
        for value in (found, naive(hidden, weight, targets))
    ]
    for one, other in zip(*both, strict=True):
        assert one.dtype == torch.bfloat16
        close(one, other, 2**-7)


def test_weight_gradients_of_many_chunks_in_bfloat16_are_added_up_in_float32():
    hidden, weight, targets, _ = problem(torch.bfloat16, count=512)
    chunked, whole = (
        torch.autograd.grad(select_logprobs(hidden, weight, targets, chunk).sum(), weight)[0]
        for chunk in (1, 512)
    )
    close(chunked, whole, 2**-7)


def test_products_under_autocast_have_its_precision():
    hidden, weight, targets, _ = problem()
    with torch.autocast("cpu", torch.bfloat16):
        found = select_logprobs(hidden, weight, targets)
        expected = naive(hidden, weight, targets)
    close(found, expected)
    gradient = torch.autograd.grad(found.sum(), weight)[0]
    assert gradient.dtype == torch.float32
    close(gradient, torch.autograd.grad(expected.sum(), weight)[0], 2**-7)


def test_no_positions_give_no_log_probabilities():
    hidden, weight, targets, _ = problem(count=0)
    found = select_logprobs(hidden, weight, targets)
    assert found.shape == (0,)
    assert not torch.autograd.grad(found.sum(), weight)[0].any()


@pytest.mark.parametrize("kind", ["llama", "qwen2", "mistral"])
def test_a_model_gives_the_log_probabilities_of_its_logits(make_model, kind):
    model = make_model(kind)
    check_head(model)
    ids = torch.arange(20)[None] * 7 % 67
    predictors, targets = torch.tensor([3, 4, 9, 9, 18]), torch.tensor([5, 66, 0, 1, 7])
    found = token_logprobs(model, {"input_ids": ids}, predictors, targets)
    logits = model(input_ids=ids).logits[0].log_softmax(-1)
    expected = torch.stack([logits[p, t] for p, t in zip(predictors, targets, strict=True)])
    close(found, expected)
    both = [
        torch.autograd.grad(value.square().sum(), list(model.parameters()))
        for value in (found, expected)
    ]
    for one, other in zip(*both, strict=True):
        close(one, other)


def test_a_model_gives_logits_again_afterward(make_model):
    model = make_model()
    ids = torch.arange(6)[None]
    before = model(input_ids=ids).logits
    token_logprobs(model, {"input_ids": ids}, torch.tensor([1]), torch.tensor([1]))
    with pytest.raises(IndexError):
        token_logprobs(model, {"input_ids": ids}, torch.tensor([6]), torch.tensor([1]))
    assert torch.equal(model(input_ids=ids).logits, before)
    assert "forward" not in vars(output_layer(model))


@RENAMED
def test_a_checkpointed_model_with_adapters_gives_the_same_values_and_gradients(make_model):
    peft = pytest.importorskip("peft", reason="peft is not installed (colbench[train])")
    adapted = peft.get_peft_model(
        make_model(),
        peft.LoraConfig(
            target_modules="all-linear", init_lora_weights=False, task_type="CAUSAL_LM"
        ),
    )
    check_head(adapted)
    ids = torch.arange(12)[None]
    places, targets = torch.arange(4, 11), torch.arange(5, 12)
    expected = adapted(input_ids=ids).logits[0].log_softmax(-1)[places, targets]
    trained = [p for p in adapted.parameters() if p.requires_grad]
    gradients = torch.autograd.grad(expected.sum(), trained)
    adapted.gradient_checkpointing_enable()
    found = token_logprobs(adapted, {"input_ids": ids}, places, targets)
    close(found, expected)
    for one, other in zip(torch.autograd.grad(found.sum(), trained), gradients, strict=True):
        close(one, other)


@pytest.mark.parametrize("kind", ["gemma2", "granite", "cohere"])
def test_a_model_that_caps_or_scales_its_logits_is_refused(make_model, kind):
    with pytest.raises(UserError, match=f"{kind} scales or caps"):
        check_head(make_model(kind))


@pytest.mark.parametrize(("kind", "neutral"), [
    ("gemma2", {"final_logit_softcapping": None}),
    ("granite", {"logits_scaling": 1.0}),
    ("cohere", {"logit_scale": 1.0}),
])  # fmt: skip
def test_a_model_with_neutral_logit_cap_and_scale_is_accepted(make_model, kind, neutral):
    check_head(make_model(kind, **neutral))


def test_a_model_with_damaged_weights_is_not_said_to_scale_its_logits(make_model):
    model = make_model()
    with torch.no_grad():
        model.model.norm.weight.fill_(torch.nan)
    with pytest.raises(UserError, match="llama: the model's hidden states are not finite"):
        check_head(model)


def test_hidden_states_that_are_scaled_before_the_output_layer_are_refused(make_model):
    model = make_model()
    output_layer(model).register_forward_pre_hook(lambda _, inputs: (inputs[0] / 2,))
    with pytest.raises(UserError, match="its last hidden states"):
        check_head(model)


@RENAMED
def test_an_adapted_output_layer_is_refused(make_model):
    peft = pytest.importorskip("peft", reason="peft is not installed (colbench[train])")
    adapted = peft.get_peft_model(
        make_model(), peft.LoraConfig(target_modules=["lm_head"], task_type="CAUSAL_LM")
    )
    with pytest.raises(UserError, match=r"(?s)the output layer of llama is .*adapter"):
        output_layer(adapted)


def test_an_output_layer_with_a_bias_is_refused(make_model):
    model = make_model()
    model.set_output_embeddings(torch.nn.Linear(32, 67))
    with pytest.raises(UserError, match="without bias"):
        output_layer(model)
