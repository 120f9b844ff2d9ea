"""A script that builds a tiny random vision model (Idefics3) from scratch, which a real vLLM serves on a CPU.

The Python of vLLM's environment runs it: `python tiny_vision.py FOLDER [SEED]`. A picture becomes four tokens. The
model's replies make no sense; it serves to test everything around a model that receives pictures.
Why Idefics3: vLLM's Qwen-VL, LLaVA, and most others need torchvision, which vLLM's CPU build lacks.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from tiny_llama import CONTEXT, build_tokenizer, says
from transformers import (
    Idefics3Config,
    Idefics3ForConditionalGeneration,
    Idefics3ImageProcessorPil,
    Idefics3Processor,
    LlamaConfig,
    PreTrainedTokenizerFast,
)

IMAGE = "<image>"
SPECIAL = [IMAGE, "<fake_token_around_image>", "<global-img>", "<end_of_utterance>"]
PATCH = 14
EDGE = 4 * PATCH
"""Width and height, in pixels, of the square that a picture is resized to."""
SCALE = 2
"""The square of this number of patches becomes one token."""

CHAT_TEMPLATE = """{{- '<|begin_of_text|>' }}
{%- for message in messages %}
{{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' }}
{%- if message['content'] is string %}
{{- message['content'] | trim }}
{%- else %}
{%- for part in message['content'] %}
{{- part['text'] | trim if part['type'] == 'text' else '<image>' }}
{%- endfor %}
{%- endif %}
{{- '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}"""


def build_processor() -> Idefics3Processor:
    """Return the tiny Llama's tokenizer with image tokens, and an image processor that makes pictures small squares."""
    tokenizer = build_tokenizer()
    tokenizer.add_tokens(SPECIAL, special_tokens=True)
    tokenizer.chat_template = CHAT_TEMPLATE
    edge = {"longest_edge": EDGE}
    return Idefics3Processor(
        image_processor=Idefics3ImageProcessorPil(
            size=edge, max_image_size=edge, do_image_splitting=False
        ),
        tokenizer=tokenizer,
        image_seq_len=(EDGE // PATCH // SCALE) ** 2,
        chat_template=CHAT_TEMPLATE,
    )


def build_model(tokenizer: PreTrainedTokenizerFast, seed: int) -> Idefics3ForConditionalGeneration:
    """Return a model of two vision and two text layers of width 64, whose weights depend only on the seed."""
    torch.manual_seed(seed)
    size = {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_attention_heads": 2,
        "num_hidden_layers": 2,
    }
    config = Idefics3Config(
        vision_config={**size, "image_size": EDGE, "patch_size": PATCH},
        text_config=LlamaConfig(
            **size,
            num_key_value_heads=2,
            vocab_size=len(tokenizer),
            max_position_embeddings=CONTEXT,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        ),
        scale_factor=SCALE,
        image_token_id=tokenizer.convert_tokens_to_ids(IMAGE),
        pad_token_id=tokenizer.pad_token_id,
    )
    model = Idefics3ForConditionalGeneration(config)
    silent = [token for token in range(len(tokenizer)) if not says(tokenizer, token)]
    model.lm_head.weight.data[silent] = 0.0
    return model.to(torch.bfloat16)


def main(folder: Path, seed: int = 0) -> None:
    """Write the model and its processor into a folder."""
    processor = build_processor()
    build_model(processor.tokenizer, seed).save_pretrained(folder)
    processor.save_pretrained(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
