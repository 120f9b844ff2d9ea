"""Tiny language models with random weights, the same in every run, and dialogues to learn from."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import contextmanager
from importlib import util
from pathlib import Path

import pytest

from colbench.models.scripted_server import ScriptedServer

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


QWEN3 = """{%- if messages[0].role == 'system' %}
{{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}{%- endif %}
{%- set ns = namespace(last_query=0) %}
{%- for message in messages %}
{%- if message.role == 'user' %}{%- set ns.last_query = loop.index0 %}{%- endif %}
{%- endfor %}
{%- for message in messages %}
{%- set content = message.content %}
{%- if message.role == 'user' %}
{{- '<|im_start|>user\n' + content + '<|im_end|>\n' }}
{%- elif message.role == 'assistant' %}
{%- set thought = '' %}
{%- if '</think>' in content %}
{%- set thought = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
{%- set content = content.split('</think>')[-1].lstrip('\n') %}
{%- endif %}
{{- '<|im_start|>assistant\n' }}
{%- if loop.index0 > ns.last_query %}{{- '<think>\n' + thought + '\n</think>\n\n' }}{%- endif %}
{{- content + '<|im_end|>\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}{%- endif %}
{%- endif %}"""
"""Qwen3's template without tools: earlier thoughts are stripped; a prompt without thinking holds an empty one."""

DEEPSEEK = """{{- bos_token }}
{%- for message in messages %}
{%- if message.role == 'assistant' %}
{{- '<|im_start|>assistant\n' + message.content.split('</think>')[-1] + '<|im_end|>' }}
{%- else %}{{- '<|im_start|>' + message.role + '\n' + message.content }}{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n<think>\n' }}{%- endif %}"""
"""DeepSeek-R1's template: earlier thoughts are stripped, and the prompt opens the next one."""


@pytest.fixture(scope="session")
def thinking_templates():
    """Return chat templates of thinking models by name."""
    return {"qwen3": QWEN3, "deepseek": DEEPSEEK}


@pytest.fixture(scope="session")
def make_model():
    """Return `make_model("llama", …)`, which makes a float32 causal model; other arguments change its configuration."""
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


@pytest.fixture
def served():
    """Return `served(script, …)`, a context manager that runs a scripted server in its own thread."""

    @contextmanager
    def serve(script, **options):
        server, loop = ScriptedServer(script, **options), asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever)
        thread.start()

        def wait(coroutine):
            return asyncio.run_coroutine_threadsafe(coroutine, loop).result()

        try:
            yield wait(server.__aenter__())
        finally:
            wait(server.__aexit__())
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    return serve


@pytest.fixture(scope="session")
def collected(tmp_path_factory):
    """Return the folders of two runs on the same eight tasks: one agent asks everything it needs, the other guesses."""
    from colbench.cli import main

    folder = tmp_path_factory.mktemp("collected")
    for name, agent in (("asks", "interviewer"), ("guesses", "guesser")):
        tasks = ("--tasks", "bundled:backend/train", "--limit", "8")
        out = ("--out", str(folder / name))
        assert main(["eval", "--agent", agent, "--max-turns", "12", *tasks, *out]) == 0
    return folder / "asks", folder / "guesses"


@pytest.fixture
def official(tmp_path):
    """Return `official(tasks, …)`, which writes an official file: two dialogues per task; options extend replies."""

    def made(tasks, **of_reply):
        answer = "OUTPUT: I WANT TO ANSWER: def late(days): ..."
        rows = [
            {
                "task": {
                    "problem_description": (request := f"Count the late orders of shop {n}."),
                    "ground_truth": "def late(days): return days > 1",
                    "test_cases": {"test1": "late(2)"},
                },
                "dialogue_history": [
                    {"role": "user", "content": request},
                    {"role": "assistant", "content": "OUTPUT: How late?", **of_reply},
                    {"role": "user", "content": "A day."},
                    {"role": "assistant", "content": answer, **of_reply},
                ],
                "reward": reward,
            }
            for n in range(tasks)
            for reward in (0, 1)
        ]
        path = tmp_path / "official.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return made


@pytest.fixture(scope="session")
def small_model(tmp_path_factory, collected):
    """Return a folder with a one-layer Llama and a tokenizer that is trained on the messages of `collected`."""
    pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
    from sweet_rl_trainer.data.runs import read_run
    from sweet_rl_trainer.model.tiny import build
    from sweet_rl_trainer.settings import Shape

    texts = [each.content for run in collected for one in read_run(run) for each in one.messages]
    folder = tmp_path_factory.mktemp("small_model") / "model"
    build(folder, Shape(layers=1, width=32, inner=64, vocabulary=1024), texts)
    return folder


SMALL = """# Of a test
[data]
held_out = 0.3

[train]
learning_rate = 1e-3
batch_size = 2
epochs = 2
precision = "float32"
gradient_checkpointing = false
share_beginnings = true
row_tokens = 8192
save_every = 2

[sample]
count = 3
max_tokens = 4
data_fraction = 0.1

[export]
dtype = "float32"
"""


@pytest.fixture
def small_recipe(tmp_path, collected, small_model, one_thread):
    """Return a recipe file for `collected` and `small_model`; all its stages finish in seconds."""
    runs = ", ".join(f'"{folder}"' for folder in collected)
    text = SMALL.replace("[data]", f'[model]\nname = "{small_model}"\n\n[data]\nruns = [{runs}]')
    path = tmp_path / "small.toml"
    path.write_text(text)
    return path


@pytest.fixture
def one_thread(monkeypatch):
    """Limit the processes that a test starts to one thread each, so that they do not slow each other down."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def build_vision_model():
    """Return `build_vision_model(folder, texts, …)`, which writes a tiny vision model and its processor."""
    spec = util.spec_from_file_location("tiny_vision", Path(__file__).with_name("tiny_vision.py"))
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.build
