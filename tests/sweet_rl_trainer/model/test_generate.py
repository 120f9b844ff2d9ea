"""Replies of a model in this process, compared with a loop that reads everything again for each token."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from sweet_rl_trainer.model.generate import generate
from sweet_rl_trainer.model.kv_cache import Prefixes, cache_argument

PROMPTS = [[1, 5, 9, 30, 4], [1, 7], [1, 8, 8, 12, 60, 3, 41]]
ENDS = [2, 6, 11]


def plain_loop(model, prompt, seed, temperature, max_tokens):
    """Generate token by token, alone, without a cache."""
    generator = torch.Generator().manual_seed(seed)
    said = []
    while len(said) < max_tokens and not (said and said[-1] in ENDS):
        logits = model(torch.tensor([[*prompt, *said]])).logits[0, -1].float()
        if temperature:
            noise = torch.empty_like(logits).exponential_(generator=generator)
            logits = logits / temperature - noise.log()
        said.append(int(logits.argmax()))
    return said


@pytest.mark.parametrize("temperature", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("kind", ["llama", "qwen2", "gemma2"])
@torch.no_grad()
def test_replies_match_a_plain_loop_regardless_of_the_rest_of_the_batch(
    make_model, kind, temperature
):
    model = make_model(kind).eval()
    seeds = [(3, 4), (5, 6), (7, 8)]
    found = generate(
        model, PROMPTS, [3, 4, 5, 6, 7, 8], ends=ENDS, temperature=temperature, max_tokens=12
    )
    expected = [
        plain_loop(model, prompt, seed, temperature, 12)
        for prompt, own in zip(PROMPTS, seeds, strict=True)
        for seed in own
    ]
    assert found == expected
    if kind != "gemma2":  # it repeats one token
        assert len(set(map(len, found))) > 1 or not temperature
    alone = generate(model, PROMPTS[1:2], [5], ends=ENDS, temperature=temperature, max_tokens=12)
    assert alone == expected[2:3]


@pytest.mark.parametrize("kind", ["llama", "qwen2", "gemma2"])
@torch.no_grad()
def test_a_continued_dialogue_has_the_same_replies_as_one_read_from_scratch(make_model, kind):
    model, prefixes = make_model(kind).eval(), Prefixes(100)
    prompts, seeds = PROMPTS, [3, 4, 5]
    for _ in range(3):
        found = generate(
            model, prompts, seeds, ends=ENDS, temperature=1.0, max_tokens=12, prefixes=prefixes
        )
        assert found == [
            plain_loop(model, prompt, seed, 1.0, 12)
            for prompt, seed in zip(prompts, seeds, strict=True)
        ]
        prompts = [[*prompt, *reply, 9] for prompt, reply in zip(prompts, found, strict=True)]


@pytest.mark.parametrize("name", ["cache", "past_key_values"])
@torch.no_grad()
def test_a_model_gets_its_cache_under_the_name_of_its_own_parameter(make_model, name):
    model, seeds = make_model("llama").eval(), [3, 4, 5]
    usual = generate(model, PROMPTS, seeds, ends=ENDS, temperature=1.0, max_tokens=12)
    inner, taken = model.forward, cache_argument(model)

    def by_cache(*, cache, **rest):
        return inner(**{taken: cache}, **rest)

    def by_past_key_values(*, past_key_values, **rest):
        return inner(**{taken: past_key_values}, **rest)

    model.forward = by_cache if name == "cache" else by_past_key_values
    found = generate(model, PROMPTS, seeds, ends=ENDS, temperature=1.0, max_tokens=12)
    assert cache_argument(model) == name
    assert found == usual
