"""Tokenizers with every kind of chat template, made here, and dialogues to tokenize."""

from __future__ import annotations

import itertools

import pytest

from colbench.messages import ANSWER_MARKER, PUBLIC_MARKER, Message

TEXT = """
Write a Python function that counts how many orders were late. What should it return when the list is empty?
It returns an empty dictionary. Is an order that arrives on the last day late? No, only after the last day.
The person in the conversation has exactly this function in mind; the assistant is to find out what it does.
def count_late(orders, days):
    return sum(order["delivered"] - order["ordered"] > days for order in orders)
<html><body><h1>A page about boats</h1></body></html>
"""

LLAMA = """{{- bos_token }}
{%- if not date_string is defined %}{%- set date_string = strftime_now("%d %b %Y") %}{%- endif %}
{%- if messages[0]['role'] == 'system' %}
{%- set system = messages[0]['content'] | trim %}{%- set messages = messages[1:] %}
{%- else %}{%- set system = '' %}{%- endif %}
{{- '<|start|>system<|stop|>\n\nToday: ' + date_string + '\n\n' + system + '<|eot|>' }}
{%- for message in messages %}
{{- '<|start|>' + message['role'] + '<|stop|>\n\n' + message['content'] | trim + '<|eot|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start|>assistant<|stop|>\n\n' }}{%- endif %}"""

CHATML = """{%- if messages[0]['role'] != 'system' %}
{{- '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}{%- endif %}
{%- for message in messages %}
{{- '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}"""

MARKED = """{%- for message in messages %}
{{- '<|im_start|>' + message['role'] + '\n' }}
{%- if message['role'] == 'assistant' %}
{%- generation %}{{- message['content'] + '<|im_end|>' }}{%- endgeneration %}{{- '\n' }}
{%- else %}{{- message['content'] + '<|im_end|>\n' }}{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}"""

THINKING = """{%- for message in messages %}
{%- set content = message['content'] %}
{%- if message['role'] == 'assistant' and '</think>' in content %}
{%- set content = content.split('</think>')[-1].lstrip('\n') %}{%- endif %}
{%- if message['role'] == 'assistant' and loop.last %}
{%- set content = '<think>\n\n</think>\n\n' + content %}{%- endif %}
{{- '<|im_start|>' + message['role'] + '\n' + content + '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}"""

MISTRAL = """{{- bos_token }}
{%- for message in messages %}
{%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
{{- raise_exception('roles must alternate, user first') }}{%- endif %}
{%- if message['role'] == 'user' %}{{- '[INST] ' + message['content'] + ' [/INST]' }}
{%- else %}{{- message['content'] + eos_token }}{%- endif %}
{%- endfor %}"""

MOVING = """{{- bos_token }}
{%- if messages[0]['role'] == 'system' %}
{%- set system = messages[0]['content'] + '\n\n' %}{%- set messages = messages[1:] %}
{%- else %}{%- set system = '' %}{%- endif %}
{%- for message in messages %}
{%- if message['role'] == 'user' %}
{{- '[INST] ' + (system if loop.last else '') + message['content'] + ' [/INST]' }}
{%- else %}{{- message['content'] + eos_token }}{%- endif %}
{%- endfor %}"""

PLAIN = """{%- for message in messages %}{{- message['role'] + ': ' + message['content'] + '\n' }}{%- endfor %}
{%- if add_generation_prompt %}{{- 'assistant: ' }}{%- endif %}"""

DEAF = """{%- for message in messages if message['role'] != 'system' %}
{{- '<|im_start|>' + message['content'] + '<|im_end|>' }}{%- endfor %}"""

TEMPLATES = {
    "llama": LLAMA,
    "chatml": CHATML,
    "marked": MARKED,
    "thinking": THINKING,
    "mistral": MISTRAL,
    "moving": MOVING,
    "plain": PLAIN,
    "deaf": DEAF,
}
SPECIAL = ["<s>", "</s>", "<|start|>", "<|stop|>", "<|eot|>", "<|im_start|>", "<|im_end|>"]
SPECIAL += ["[INST]", "[/INST]"]


def trained(*, pieces):
    """Return a BPE tokenizer: of bytes, which can represent any text, or of sentence pieces, which cannot."""
    tokenizers = pytest.importorskip("tokenizers", reason="the trainer's extra is not installed")
    if pieces:
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>"))
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(prepend_scheme="first")
        tokenizer.decoder = tokenizers.decoders.Metaspace(prepend_scheme="first")
        special, alphabet = ["<unk>", *SPECIAL], []
    else:
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = tokenizers.decoders.ByteLevel()
        special, alphabet = SPECIAL, tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=700, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(TEXT.splitlines(keepends=True), trainer)
    bos = tokenizer.token_to_id("<s>")
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", bos)]
    )
    return tokenizer


@pytest.fixture(scope="session")
def tokenizer(thinking_templates):
    """Return `tokenizer(name)`: a tokenizer with that template, which starts texts with BOS as Llama's does."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    made = {pieces: trained(pieces=pieces) for pieces in (False, True)}
    templates = {**TEMPLATES, **thinking_templates}

    def build(name, *, pieces=False, **options):
        fast = transformers.PreTrainedTokenizerFast(
            tokenizer_object=made[pieces],
            **{"bos_token": "<s>", "eos_token": "</s>", "name_or_path": f"tiny-{name}", **options},
        )
        fast.chat_template = templates.get(name)
        return fast

    return build


@pytest.fixture(scope="session")
def trajectory():
    """Return `trajectory(heard, replies, …)`: a dialogue with public and private parts as the harness records them."""
    from sweet_rl_trainer.data.trajectories import Trajectory

    numbers = itertools.count(1)

    def build(heard=("Write it.", "No."), replies=("Late?", "def f(): 0"), system="", **fields):
        messages = [Message(role="system", content=system)] if system else []
        for human, agent in zip(heard, replies, strict=True):
            messages.append(Message(role="user", content=human))
            messages.append(Message(role="assistant", content=agent))
        public = [reply.partition(PUBLIC_MARKER)[2] or reply for reply in replies]
        given = {
            "id": f"dialogue-{next(numbers)}",
            "task_id": "late",
            "task_hash": "a" * 64,
            "domain": "backend",
            "privileged": "def count_late(orders, days):\n    return 0",
            "said": tuple(text.partition(ANSWER_MARKER)[0].strip() for text in public),
            "reward": 1.0,
            "ended_by": "answer",
        }
        return Trajectory(messages=tuple(messages), **{**given, **fields})

    return build
