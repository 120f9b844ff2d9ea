"""A model that says one of three texts at random, and a task that one of them solves and another half solves."""

from __future__ import annotations

import pytest

CHATML = """{%- for message in messages %}
{{- '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}"""
SPECIAL = ["<s>", "</s>", "<|im_start|>", "<|im_end|>"]
ANSWER = "I WANT TO ANSWER:\ndef late(days):\n    return "
WORDS = [f"{ANSWER}days > 1  # ", f"{ANSWER}True  # ", "How late? "]
"""Texts that are single tokens. If their text is tokenized, it becomes other tokens. The last answer counts."""
THOUGHTFUL = [f"<think>{thought}</think>{word}" for thought, word in zip("abc", WORDS, strict=True)]
"""The same texts, each after a thought."""


@pytest.fixture(scope="session")
def make_chat():
    """Return `make_chat(template, thoughts=True)`: 256 tokens for bytes, the special ones, and WORDS, or THOUGHTFUL."""
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
    from sweet_rl_trainer.data.chat import Chat

    def make(template=CHATML, *, thoughts=False):
        level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        words = [level.pre_tokenize_str(word)[0][0] for word in (THOUGHTFUL if thoughts else WORDS)]
        entries = [*SPECIAL, *sorted(level.alphabet()), *words]
        vocabulary = {token: number for number, token in enumerate(entries)}
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, []))
        tokenizer.pre_tokenizer = level
        tokenizer.decoder = tokenizers.decoders.ByteLevel()
        tokenizer.add_special_tokens(SPECIAL)
        fast = transformers.PreTrainedTokenizerFast(
            tokenizer_object=tokenizer,
            bos_token="<s>",
            eos_token="</s>",
            pad_token="</s>",
            name_or_path="words",
        )
        fast.chat_template = template
        return Chat(fast)

    return make


@pytest.fixture(scope="session")
def make_guesser(make_model, make_chat):
    """Return `make_guesser()`: a model that says each of WORDS, or ends its turn, equally likely at any position."""
    torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")

    def make(**changes):
        chat = make_chat()
        size = len(chat.tokenizer)
        model = make_model("llama", vocab_size=size, **{"max_position_embeddings": 4096, **changes})
        usual = [size - 3, size - 2, size - 1, chat.end]
        with torch.no_grad():
            for layer in model.model.layers:
                layer.self_attn.o_proj.weight.mul_(0.01)
                layer.mlp.down_proj.weight.mul_(0.01)
            model.model.embed_tokens.weight[:, 0] = 9.0
            model.model.norm.weight.zero_()[0] = 1.0
            model.lm_head.weight[:, 0] = 0.0
            model.lm_head.weight[usual, 0] = 3.0
        return model

    return make


@pytest.fixture(scope="session")
def late():
    """Return a task that `days > 1` solves, and about which the human knows one fact."""
    from colbench.task import Fact, Hidden, Task

    fact = Fact(name="late", topics=("late",), statement="More than one day is late.")
    return Task(
        id="late",
        domain="backend",
        request="I need late(days), which says whether an order is late.",
        hidden=Hidden(
            reference="def late(days):\n    return days > 1",
            tests=("late(0)", "late(1)", "late(2)", "late(3)"),
            facts=(fact,),
        ),
    )
