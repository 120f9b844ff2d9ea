"""The memory estimate, compared with manual calculations."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

from sweet_rl_trainer.model.logprobs import CHUNK_BYTES
from sweet_rl_trainer.model.memory_estimate import (
    Size,
    Tower,
    activations,
    size_of,
    tower_activations,
    training_bytes,
)
from sweet_rl_trainer.settings import LoraSettings, TrainSettings

LOGITS = 2 * CHUNK_BYTES
SMALL = Size(parameters=1000, linear=((10, 20), (20, 10)), layers=3, width=10, inner=20)
ROWS = TrainSettings(row_tokens=100, precision="float32", gradient_checkpointing=False)
PER_LAYER = 12 * 10 + 4 * 20
GIB = 2**30


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """Return the shape of Llama-3.1-8B."""
    folder = tmp_path_factory.mktemp("llama")
    transformers.LlamaConfig(
        vocab_size=128_256,
        hidden_size=4096,
        intermediate_size=14_336,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=8,
        architectures=["LlamaForCausalLM"],
    ).save_pretrained(folder)
    return size_of(folder)


def test_activations_are_those_of_all_layers_or_of_one_layer_and_all_inputs():
    for lora in (None, LoraSettings()):
        assert activations(SMALL, ROWS, lora) == 100 * 3 * PER_LAYER * 4
    narrow = TrainSettings(row_tokens=100)
    assert activations(SMALL, narrow, None) == 100 * (PER_LAYER * 2 + 3 * 10 * 4)
    assert activations(SMALL, narrow, LoraSettings()) == 100 * (PER_LAYER + 3 * 10) * 2


@pytest.mark.parametrize(("weights", "size"), [(torch.float32, 4), (torch.bfloat16, 2)])
def test_layer_inputs_have_the_precision_of_the_weights(weights, size, make_model):
    model = make_model().to(weights)
    ids = torch.zeros(1, 9, dtype=torch.long)
    inputs = []
    for layer in model.model.layers:
        layer.register_forward_pre_hook(lambda _, given: inputs.append(given[0]))
    with torch.autocast("cpu", torch.bfloat16):
        model(ids, use_cache=False)
    assert [each.nbytes for each in inputs] == [9 * model.config.hidden_size * size] * len(inputs)
    assert len(inputs) == model.config.num_hidden_layers


def test_full_training_of_a_small_model_needs_the_calculated_bytes():
    rows = activations(SMALL, ROWS, None) + LOGITS
    assert training_bytes(SMALL, ROWS, None) == 16_000 + rows
    narrow = TrainSettings(row_tokens=100)
    rows = activations(SMALL, narrow, None) + LOGITS
    assert training_bytes(SMALL, narrow, None) == 18_000 + rows
    eight = TrainSettings(row_tokens=100, optimizer="paged_adamw_8bit")
    assert training_bytes(SMALL, eight, None) == 12_000 + rows
    assert training_bytes(SMALL, narrow, None, shards=2) == 9_000 + rows
    assert training_bytes(SMALL, narrow, None, shards=8) == 6_000 + rows


def test_adapter_training_of_a_small_model_needs_the_calculated_bytes():
    trained = 4 * (30 + 30)
    narrow = TrainSettings(row_tokens=100)
    lora = LoraSettings(rank=4)
    rows = activations(SMALL, narrow, lora) + LOGITS
    assert training_bytes(SMALL, narrow, lora) == 2000 + 16 * trained + rows
    four = LoraSettings(rank=4, quantize="4bit")
    assert training_bytes(SMALL, narrow, four) == 550 + 16 * trained + rows
    whole = activations(SMALL, ROWS, lora) + LOGITS
    assert training_bytes(SMALL, ROWS, lora) == 4000 + 16 * trained + whole


def test_the_size_of_llama_is_that_of_the_checkpoint(llama):
    assert llama.parameters == 8_030_261_248
    assert (llama.layers, llama.width, llama.inner) == (32, 4096, 14_336)
    assert len(llama.linear) == 32 * 7
    weights = sum(one * other for one, other in llama.linear)
    embeddings, norms = 2 * 128_256 * 4096, (2 * 32 + 1) * 4096
    assert weights + embeddings + norms == llama.parameters


def test_llama_needs_eight_large_gpus_for_all_weights_and_one_for_adapters(llama):
    settings = TrainSettings()
    layer, inputs = 16_384 * (12 * 4096 + 4 * 14_336), 16_384 * 32 * 4096
    row = layer * 2 + inputs * 4
    whole = training_bytes(llama, settings, None, shards=8)
    assert whole == max(18 * llama.parameters / 8, 6 * llama.parameters) + row + LOGITS
    assert whole < 75 * GIB < training_bytes(llama, settings, None)

    # q and o: 4096 to 4096, k and v: 4096 to 1024, gate, up and down: 4096 and 14,336
    trained = 32 * 32 * (2 * 8192 + 2 * 5120 + 3 * 18_432)
    lora = training_bytes(llama, settings, LoraSettings(rank=32))
    assert lora == 2 * llama.parameters + 16 * trained + (layer + inputs) * 2 + LOGITS
    assert lora < 40 * GIB


def test_the_size_of_qwen2_vl_is_that_of_the_checkpoint_with_its_vision_tower(tmp_path):
    transformers.Qwen2VLConfig(
        text_config={
            "vocab_size": 152_064,
            "hidden_size": 3584,
            "intermediate_size": 18_944,
            "num_hidden_layers": 28,
            "num_attention_heads": 28,
            "num_key_value_heads": 4,
        },
        vision_config={"hidden_size": 3584},
    ).save_pretrained(tmp_path)
    size = size_of(tmp_path)
    assert size.parameters == 8_291_375_616
    assert (size.layers, size.width, size.inner) == (28, 3584, 18_944)
    assert size.tower == Tower(layers=32, width=1280, inner=5120)
    settings = TrainSettings()
    layer = 12 * 1280 + 4 * 5120
    whole = 1000 * (layer * 2 + 32 * 1280 * 4)
    assert tower_activations(size, settings, None, 1000) == whole
    adapters = 1000 * (layer + 32 * 1280) * 2
    assert tower_activations(size, settings, LoraSettings(), 1000) == adapters
    assert tower_activations(SMALL, settings, None, 1000) == 0


def test_the_vision_tower_of_qwen2_5_vl_is_read_from_its_own_fields(tmp_path):
    size = {"depth": 2, "hidden_size": 32, "num_heads": 2, "out_hidden_size": 64}
    text = {"hidden_size": 64, "num_hidden_layers": 1, "vocab_size": 100}
    transformers.Qwen2_5_VLConfig(
        text_config={**text, "num_attention_heads": 2, "num_key_value_heads": 2},
        vision_config={**size, "intermediate_size": 96},
    ).save_pretrained(tmp_path)
    assert size_of(tmp_path).tower == Tower(layers=2, width=32, inner=96)
