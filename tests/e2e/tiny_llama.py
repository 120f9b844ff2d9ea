"""A script that builds a tiny random Llama with a tokenizer and a chat template, which a real vLLM serves on a CPU.

The Python of vLLM's environment runs it: `python tiny_llama.py FOLDER [SEED]`. The same seed gives the same
model. The model's replies make no sense; it serves to test everything around a model.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

CONTEXT = 16384
SPECIAL = ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]

CHAT_TEMPLATE = """{{- '<|begin_of_text|>' }}
{%- for message in messages %}
{{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' }}
{{- message['content'] | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}"""

TEXT = '''
Write a Python function that counts how many orders of each customer were late. The function should take
the list of orders and the number of days as arguments. What should the function return when the list is
empty? It returns an empty dictionary. Is an order that arrives on the last day late? No, only an order
that arrives after the last day is late. How are the orders represented? Each order is a dictionary with
the keys customer, ordered and delivered. What is the type of the values? The values are integers.
Which customers are left out of the result? Those without any late order are left out of the result.
Should the result be sorted? Yes, sort the result by the number of late orders, the largest first.

def count_late_orders(orders, days):
    """Count the late orders of each customer."""
    counts = {}
    for order in orders:
        if order["delivered"] - order["ordered"] > days:
            customer = order["customer"]
            counts[customer] = counts.get(customer, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: item[1], reverse=True))

class Average:
    def __init__(self, values):
        self.total = sum(values)
        self.length = len(values)

    def mean(self):
        if self.length == 0:
            return None
        return round(self.total / self.length, 2)

import math
def distance(first, second):
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(first, second)))
print(distance([1, 2, 3], [4, 5, 6]))
'''


def build_tokenizer() -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer, which encodes and decodes any text without loss."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1024,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT.splitlines(keepends=True), trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<|begin_of_text|>",
        eos_token="<|eot_id|>",
        pad_token="<|eot_id|>",
        model_max_length=CONTEXT,
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def build_model(tokenizer: PreTrainedTokenizerFast, seed: int) -> LlamaForCausalLM:
    """Return a model of two layers of width 64, whose weights depend only on the seed."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=CONTEXT,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = LlamaForCausalLM(config)
    silent = [token for token in range(len(tokenizer)) if not says(tokenizer, token)]
    model.lm_head.weight.data[silent] = 0.0
    return model.to(torch.bfloat16)


def says(tokenizer: PreTrainedTokenizerFast, token: int) -> bool:
    """Return True if a token is more than white space or a special token.

    The other tokens get the score 0, which is never the highest score. At temperature 0, the model therefore
    never gives an empty reply, which the human of a run must not give.
    """
    return bool(tokenizer.decode([token], skip_special_tokens=True).strip())


def main(folder: Path, seed: int = 0) -> None:
    """Write the model and its tokenizer into a folder."""
    tokenizer = build_tokenizer()
    build_model(tokenizer, seed).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
