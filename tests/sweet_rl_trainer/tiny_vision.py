"""Tiny Qwen2-VL and Qwen2.5-VL models with random weights, and their processors, for tests of the vision critic.

The byte-level BPE tokenizer is trained on given texts, and the chat template follows that of Qwen2-VL. The same texts
give the same files.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from sweet_rl_trainer.console import no_bars
from sweet_rl_trainer.model.tiny import make_tokenizer
from sweet_rl_trainer.settings import Shape

Kind = Literal["qwen2_vl", "qwen2_5_vl"]
IMAGE, VIDEO, START, END = (
    "<|image_pad|>",
    "<|video_pad|>",
    "<|vision_start|>",
    "<|vision_end|>",
)
SPECIAL = ("<|im_start|>", "<|im_end|>", START, END, IMAGE, VIDEO)
CHAT_TEMPLATE = """{%- for message in messages %}
{%- if loop.first and message['role'] != 'system' %}
{{- '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}
{%- endif %}
{{- '<|im_start|>' + message['role'] + '\n' }}
{%- if message['content'] is string %}
{{- message['content'] }}
{%- else %}
{%- for part in message['content'] %}
{{- '<|vision_start|><|image_pad|><|vision_end|>' if part['type'] == 'image' else part['text'] }}
{%- endfor %}
{%- endif %}
{{- '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\n' }}
{%- endif %}"""
WIDTH, LAYERS = 64, 2
VISION: dict[Kind, dict[str, Any]] = {
    "qwen2_vl": {"embed_dim": 32, "hidden_size": WIDTH, "mlp_ratio": 2},
    "qwen2_5_vl": {
        "hidden_size": 32,
        "out_hidden_size": WIDTH,
        "intermediate_size": 64,
        "fullatt_block_indexes": [1],
        "window_size": 56,
    },
}


def build(
    folder: Path, texts: Iterable[str], *, kind: Kind = "qwen2_vl", vocabulary: int = 1024
) -> None:
    """Write the model, in float32, and its processor into a folder; the texts hold at most `vocabulary` tokens."""
    import torch
    from transformers import AutoModelForImageTextToText

    tokenizer = make_tokenizer(Shape(vocabulary=vocabulary), texts)
    tokenizer.add_special_tokens({"additional_special_tokens": list(SPECIAL)})
    tokenizer.eos_token = "<|im_end|>"
    tokenizer.chat_template = CHAT_TEMPLATE
    with torch.random.fork_rng():
        torch.manual_seed(0)
        made: Any = AutoModelForImageTextToText
        model = made.from_config(_config(kind, tokenizer))
    with no_bars():
        model.save_pretrained(folder)
    _processor(kind, tokenizer).save_pretrained(folder)


def _config(kind: Kind, tokenizer: Any) -> Any:
    from transformers import AutoConfig

    ids = tokenizer.convert_tokens_to_ids
    return AutoConfig.for_model(
        kind,
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": WIDTH,
            "intermediate_size": 2 * WIDTH,
            "num_hidden_layers": LAYERS,
            "num_attention_heads": WIDTH // 32,
            "num_key_value_heads": 1,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 1e6,
                "mrope_section": [4, 6, 6],
            },
            "bos_token_id": tokenizer.bos_token_id,
            "eos_token_id": tokenizer.eos_token_id,
        },
        vision_config={"depth": LAYERS, "num_heads": 2, **VISION[kind]},
        image_token_id=ids(IMAGE),
        video_token_id=ids(VIDEO),
        vision_start_token_id=ids(START),
        vision_end_token_id=ids(END),
    )


def _processor(kind: Kind, tokenizer: Any) -> Any:
    import transformers

    made: Any = {
        "qwen2_vl": transformers.Qwen2VLProcessor,
        "qwen2_5_vl": transformers.Qwen2_5_VLProcessor,
    }[kind]
    return made(
        image_processor=transformers.Qwen2VLImageProcessor(),
        video_processor=transformers.Qwen2VLVideoProcessor(),
        tokenizer=tokenizer,
        chat_template=CHAT_TEMPLATE,
    )
