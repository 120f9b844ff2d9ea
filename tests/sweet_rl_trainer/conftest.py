"""Tiny language models with random weights, the same in every run."""

from __future__ import annotations

import pytest

SHAPE = {
    "vocab_size": 67,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 256,
    "initializer_range": 0.3,
    "attn_implementation": "sdpa",
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
WINDOWED = {"sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"]}
KINDS = {
    "llama": ("LlamaConfig", {"tie_word_embeddings": False}),
    "qwen2": ("Qwen2Config", {"tie_word_embeddings": True}),  # biases in its attention
    "qwen2 with windows": ("Qwen2Config", {"use_sliding_window": True, **WINDOWED}),
    "mistral": ("MistralConfig", {"sliding_window": 5}),
    "gemma2": ("Gemma2Config", {"attn_implementation": "eager"}),  # caps its logits
    "granite": ("GraniteConfig", {"logits_scaling": 3.0}),
    "cohere": ("CohereConfig", {"logit_scale": 0.5}),
}


@pytest.fixture
def make_model():
    """`make_model("llama", …)`: a causal language model in float32; further arguments change its configuration."""
    torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.set_num_threads(1)

    def make(kind="llama", **changes):
        name, own = KINDS[kind]
        config = getattr(transformers, name)(**{**SHAPE, **own, **changes})
        with torch.random.fork_rng():
            torch.manual_seed(0)
            model = transformers.AutoModelForCausalLM.from_config(
                config, attn_implementation={**SHAPE, **own, **changes}["attn_implementation"]
            )
            for name, parameter in model.named_parameters():
                if name.endswith("bias"):
                    torch.nn.init.normal_(parameter)
        return model.train()

    return make
