"""A byte tokenizer with a chat template, a model for it, and dialogues."""

from __future__ import annotations

import pytest

CHATML = """{%- for message in messages %}
{{- '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}"""
SPECIAL = ["<s>", "</s>", "<|im_start|>", "<|im_end|>"]


@pytest.fixture(scope="session")
def chat():
    """Return a chat with 256 tokens for bytes, and the special ones."""
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    from sweet_rl_trainer.data.chat import Chat

    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate(SPECIAL + alphabet)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.add_special_tokens(SPECIAL)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", name_or_path="bytes"
    )
    fast.chat_template = CHATML
    return Chat(fast)


@pytest.fixture
def byte_model(make_model):
    """Return `byte_model(seed, …)`: a model with different weights for each seed."""
    torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")

    def make(seed=0, kind="llama", **changes):
        model = make_model(kind, vocab_size=260, max_position_embeddings=1024, **changes)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(seed * 0.05 * torch.randn(parameter.shape, generator=generator))
        return model

    return make


@pytest.fixture
def dialogue():
    """Return `dialogue(name, replies, …)`: a dialogue as a trajectory."""
    pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
    from colbench.messages import Message
    from sweet_rl_trainer.data.trajectories import Trajectory

    def make(name="d", replies=("Late?", "def f(): 0"), heard=("Write it.", "No."), **fields):
        said = [
            Message(role=role, content=text)
            for pair in zip(heard, replies, strict=True)
            for role, text in zip(("user", "assistant"), pair, strict=True)
        ]
        given = {"task_id": "late", "task_hash": "a" * 64, "domain": "backend", "reward": 1.0}
        given |= {"privileged": "def late(days): return 0", "ended_by": "answer", "said": replies}
        return Trajectory(id=name, messages=tuple(said), **(given | fields))

    return make


@pytest.fixture
def make_scorer(tmp_path):
    """Return `make_scorer(model, name)`: a scorer by a model in memory; `name` separates its values in the cache."""
    pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
    from sweet_rl_trainer.model.attention import can_share
    from sweet_rl_trainer.model.value_head import has_value_head
    from sweet_rl_trainer.train.loss import READERS
    from sweet_rl_trainer.train.reference_cache import ReferenceCache
    from sweet_rl_trainer.train.scorer import Scorer

    def make(model, name="m"):
        model.eval()
        score = "value" if has_value_head(model) else "log-ratio"
        return Scorer(
            cache=ReferenceCache(tmp_path / "cache", model=name, precision="float32"),
            logprobs=lambda row: READERS[score](model, model.config, row),
            share=can_share(model.config),
            score=score,
        )

    return make
