"""Small Llamas with random weights: for machines without a model, and for tests of the code around a model.

They have a chat template similar to Llama 3's, and a byte-level BPE tokenizer that is trained on given texts. The same
shape and texts give the same files.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sweet_rl_trainer.console import no_bars
from sweet_rl_trainer.settings import Shape

SPECIAL = ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
CHAT_TEMPLATE = """{{- '<|begin_of_text|>' }}
{%- for message in messages %}
{{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' }}
{{- message['content'] | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}"""


def build(folder: Path, shape: Shape, texts: Iterable[str]) -> None:
    """Write the model, in float32, and its tokenizer into a folder."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = make_tokenizer(shape, texts)
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=shape.width,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.width // 32,
        num_key_value_heads=shape.width // 32,
        max_position_embeddings=shape.context,
        pad_token_id=tokenizer.pad_token_id,
        **ends,
    )
    with torch.random.fork_rng():
        torch.manual_seed(shape.seed)
        model = LlamaForCausalLM(config)
    with no_bars():
        model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def make_tokenizer(shape: Shape, texts: Iterable[str]) -> Any:
    """Return a byte-level BPE tokenizer that was trained on the texts."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=shape.vocabulary,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    made: Any = PreTrainedTokenizerFast
    fast = made(
        tokenizer_object=tokenizer,
        bos_token=SPECIAL[0],
        eos_token=SPECIAL[-1],
        pad_token=SPECIAL[-1],
        model_max_length=shape.context,
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast
